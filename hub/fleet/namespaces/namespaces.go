package namespaces

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/bundled"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// Store lists managed namespaces.
type Store interface {
	// Namespaces returns up to limit of the global services that make namespaces,
	// after a namespace, in order of namespace, without templates.
	Namespaces(ctx context.Context, after string, limit int, reach *identity.Reach) ([]globals.Global, error)
}

// Config holds what Namespaces needs. All fields are required.
type Config struct {
	Globals *globals.Globals
	Fleet   fleet.Templates
	Rows    fleet.Store
	Store   Store
}

// Namespaces manages namespaces. Its methods are safe for concurrent use.
type Namespaces struct{ config Config }

// New returns the managed namespaces of a fleet.
func New(c Config) *Namespaces { return &Namespaces{c} }

// Declaration is how a namespace is on its clusters.
type Declaration struct {
	Description string            `json:"description,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	PullSecrets []string          `json:"pullSecrets,omitempty"`
	// Cascade is delete, detach or empty; only delete deletes the namespace.
	Cascade globals.Cascade `json:"cascade,omitempty"`
}

// Request declares a managed namespace.
type Request struct {
	Name string
	Declaration
	// Project is a name; empty is all clusters of the hub.
	Project string
	Tags    map[string]string
	Distro  string
	// Service is the template of NAME-core; nil is none.
	Service *fleet.Spec
	// DryRun checks everything and stores nothing.
	DryRun bool
}

// Namespace is a managed namespace.
type Namespace struct {
	Name string
	Declaration
	// Global makes the namespace, and Core its service, nil without one.
	Global globals.Global
	Core   *globals.Global
}

// Deleting reports whether it is gone as soon as its clusters have released it.
func (n Namespace) Deleting() bool { return n.Global.Deleting }

// longest is the length of a name to which -core can be added.
const longest = 58

func core(name string) string { return name + "-core" }

// Get returns a managed namespace. NotFound.
func (n *Namespaces) Get(ctx context.Context, name string) (Namespace, error) {
	missing := errcode.New(errcode.NotFound, "managed namespace %.80q does not exist; axle namespaces list shows the existing ones", name)
	service, err := n.part(ctx, core(name), name)
	if err != nil {
		return Namespace{}, err
	}
	g, err := n.part(ctx, globals.NamespaceName(name), name)
	switch {
	case err != nil:
		return Namespace{}, err
	case g == nil && service == nil:
		return Namespace{}, missing
	case g == nil:
		// The namespace is released, and the service not yet.
		last := *service
		last.Deleting, last.Context = true, ""
		return Of(last)
	}
	out, err := Of(*g)
	out.Core = service
	return out, err
}

// part returns a global service of a namespace, nil for none.
func (n *Namespaces) part(ctx context.Context, global, namespace string) (*globals.Global, error) {
	g, err := n.config.Globals.Get(ctx, global)
	switch {
	case errcode.Is(err, errcode.NotFound), err == nil && g.Namespace != namespace:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &g, nil
}

// Of is the managed namespace that a global service makes, without its service.
func Of(g globals.Global) (Namespace, error) {
	out := Namespace{Name: g.Namespace, Global: g}
	if g.Context == "" {
		return out, nil
	}
	if err := json.Unmarshal([]byte(g.Context), &out.Declaration); err != nil {
		return out, errcode.New(errcode.Internal, "the declaration of namespace %s is damaged: %w", g.Namespace, err)
	}
	return out, nil
}

// List returns a page in order of name, without services, and the name after which
// the next one begins, empty at the end.
func (n *Namespaces) List(ctx context.Context, after string, size int, reach *identity.Reach) (all []Namespace, next string, err error) {
	size = min(cmp.Or(max(size, 0), 100), 500)
	found, err := n.config.Store.Namespaces(ctx, after, size+1, reach)
	if err != nil {
		return nil, "", err
	}
	if len(found) > size {
		found, next = found[:size], found[size-1].Namespace
	}
	for _, g := range found {
		one, err := Of(g)
		if err != nil {
			return nil, "", err
		}
		all = append(all, one)
	}
	return all, next, nil
}

// Apply creates or changes a managed namespace by its name. Its clusters follow within
// moments.
func (n *Namespaces) Apply(ctx context.Context, by string, r Request) (Namespace, fleet.Outcome, error) {
	namespace, service, err := r.requests()
	if err != nil {
		return Namespace{}, "", err
	}
	if err := n.admits(ctx, r); err != nil {
		return Namespace{}, "", err
	}
	had, err := n.Get(ctx, r.Name)
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return Namespace{}, "", err
	}
	if had.Deleting() {
		return Namespace{}, "", errcode.New(errcode.Conflict, "managed namespace %s is being deleted; wait until it is gone", r.Name)
	}
	// Both are checked before one is written.
	if service != nil {
		service.DryRun = true
		if had.Core != nil && had.Core.Deleting {
			return Namespace{}, "", errcode.New(errcode.Conflict, "service %s of managed namespace %s is being deleted; wait until it is gone", core(r.Name), r.Name)
		}
		if _, _, err := n.config.Globals.Apply(ctx, by, *service); err != nil {
			return Namespace{}, "", err
		}
	}
	namespace.DryRun = r.DryRun
	g, outcome, err := n.config.Globals.Apply(ctx, by, namespace)
	if err != nil {
		return Namespace{}, "", err
	}
	out, err := Of(g)
	if err != nil {
		return out, "", err
	}
	changed, err := n.applyService(ctx, by, r, service, had.Core, &out)
	if changed && outcome == fleet.Unchanged {
		outcome = fleet.Updated
	}
	return out, outcome, err
}

// applyService makes the service what is declared, and reports whether it changed.
func (n *Namespaces) applyService(ctx context.Context, by string, r Request, want *globals.Request, had *globals.Global, out *Namespace) (bool, error) {
	if want == nil {
		if had == nil || had.Deleting {
			return false, nil
		}
		if r.DryRun {
			return true, nil
		}
		return true, n.config.Globals.Delete(ctx, by, core(r.Name), r.Name)
	}
	want.DryRun = r.DryRun
	g, outcome, err := n.config.Globals.Apply(ctx, by, *want)
	out.Core = &g
	return outcome != fleet.Unchanged, err
}

// Delete deletes a managed namespace, its service first. NotFound.
func (n *Namespaces) Delete(ctx context.Context, by, name string) error {
	had, err := n.Get(ctx, name)
	if err != nil {
		return err
	}
	// What others manage is refused before half of it is gone: both have one manager.
	if !had.Deleting() {
		if _, err := managed.Write(ctx, "managed namespace "+name, had.Global.ManagedBy, true); err != nil {
			return err
		}
	}
	for _, part := range []string{core(name), globals.NamespaceName(name)} {
		if err := n.config.Globals.Delete(ctx, by, part, name); err != nil && !errcode.Is(err, errcode.NotFound) {
			return err
		}
	}
	return nil
}

// admits refuses a namespace that the project may not use. The agents hold its
// services to the same limits.
func (n *Namespaces) admits(ctx context.Context, r Request) error {
	if r.Project == "" {
		return nil
	}
	p, err := n.config.Rows.ProjectByName(ctx, r.Project, false)
	if err != nil {
		return err
	}
	if !p.Trusted() && !p.Limits.ClusterScoped {
		return errcode.New(errcode.Forbidden, "namespace %s belongs to the whole cluster, which project %s may not change: leave the project out, or let an administrator allow it (axle projects update %s --cluster-scoped)", r.Name, p.Name, p.Name)
	}
	p.Limits.ServiceAccount = "" // the agent itself makes the namespace
	s := fleet.StoredService{Service: fleet.Service{Name: r.Name, Spec: fleet.Spec{Namespace: r.Name}}}
	return n.config.Fleet.Admit(ctx, &s, fleet.Service{}, p, fleet.Cluster{})
}

var (
	// labelKey and labelValue are Kubernetes' own rules for labels; keys of annotations
	// follow the first one.
	labelKey   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValue = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
)

const maxEntries = 100

// check returns an Invalid error for what no cluster would take.
func (r Request) check() error {
	invalid := func(format string, args ...any) error { return errcode.New(errcode.Invalid, format, args...) }
	switch {
	case len(r.Name) > longest:
		return invalid("name: has %d characters; at most %d are allowed, because services of the namespace are called NAME-core and NAME-ns", len(r.Name), longest)
	case len(r.Labels) > maxEntries || len(r.Annotations) > maxEntries || len(r.PullSecrets) > maxEntries:
		return invalid("labels, annotations and pullSecrets: at most %d of each", maxEntries)
	case r.Cascade != globals.Orphan && !slices.Contains(rule.Cascades, string(r.Cascade)):
		return invalid("cascade: %.40q is not %s", r.Cascade, rule.Or(rule.Cascades))
	}
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		if !labelKey.MatchString(key) || !labelValue.MatchString(r.Labels[key]) {
			return invalid("labels: %.80q: %.80q is not a label of Kubernetes", key, r.Labels[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Annotations)) {
		if !labelKey.MatchString(key) {
			return invalid("annotations: %.80q is not the name of an annotation of Kubernetes", key)
		}
	}
	for i, name := range r.PullSecrets {
		if !rule.Name.Valid(name) {
			return invalid("pullSecrets[%d]: %.80q is not the name of a Secret", i, name)
		}
	}
	return nil
}

// requests are the two global services of a declaration; the second is nil without a
// service.
func (r Request) requests() (namespace globals.Request, service *globals.Request, err error) {
	if err := r.check(); err != nil {
		return namespace, nil, err
	}
	spec, err := r.spec()
	if err != nil {
		return namespace, nil, err
	}
	declared, err := json.Marshal(r.Declaration)
	if err != nil {
		return namespace, nil, errcode.New(errcode.Internal, "%w", err)
	}
	cascade := globals.Detach
	if r.Cascade == globals.Delete {
		cascade = globals.Delete
	}
	namespace = globals.Request{
		Name: globals.NamespaceName(r.Name), Namespace: r.Name, Project: r.Project, Selectors: globals.Selectors{Tags: r.Tags, Distro: r.Distro},
		Cascade: cascade, Context: string(declared), Spec: spec,
	}
	if r.Service == nil {
		return namespace, nil, nil
	}
	in := *r.Service
	if in.Git != nil && in.Git.URL == bundled.NamespaceURL {
		return namespace, nil, errcode.New(errcode.Invalid, "service.git.url: %s is for the hub's own services", in.Git.URL)
	}
	if in.Namespace != "" && in.Namespace != r.Name {
		return namespace, nil, errcode.New(errcode.Invalid, "service.namespace: %.80q is another one than %s, which the service is for: leave it out", in.Namespace, r.Name)
	}
	in.Namespace = r.Name
	sync := fleet.SyncConfig{}
	if in.SyncConfig != nil {
		sync = *in.SyncConfig
	}
	no := false
	sync.CreateNamespace, sync.DeleteNamespace, in.SyncConfig = &no, false, &sync
	first := fleet.Dependency{Name: namespace.Name}
	if !slices.Contains(in.Dependencies, first) {
		in.Dependencies = append(slices.Clone(in.Dependencies), first)
	}
	copied := namespace
	copied.Name, copied.Context, copied.Spec = core(r.Name), "", in
	return namespace, &copied, nil
}

// What the agent reads of an object's annotations.
const (
	pruneAnnotation  = "axle-cd.github.io/prune"
	sharedAnnotation = "axle-cd.github.io/shared"
)

// spec is the template of the service that makes the namespace.
func (r Request) spec() (fleet.Spec, error) {
	files, err := bundled.Namespace()
	if err != nil {
		return fleet.Spec{}, err
	}
	type metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace,omitempty"`
		Labels      map[string]string `json:"labels,omitempty"`
		Annotations map[string]string `json:"annotations"`
	}
	// An agent deletes no namespace, unless the object itself says that it may. The
	// default service account is Kubernetes' own, and running pods have tokens of it.
	own := metadata{Name: r.Name, Labels: r.Labels, Annotations: map[string]string{}}
	maps.Copy(own.Annotations, r.Annotations)
	own.Annotations[pruneAnnotation], own.Annotations[sharedAnnotation] = "false", "true"
	if r.Cascade == globals.Delete {
		own.Annotations[pruneAnnotation] = "true"
	}
	values := map[string]any{bundled.Metadata: own}
	if len(r.PullSecrets) > 0 {
		var list []map[string]string
		for _, name := range r.PullSecrets {
			list = append(list, map[string]string{"name": name})
		}
		values[bundled.PullSecrets] = list
		values[bundled.Account] = metadata{Name: "default", Namespace: r.Name, Annotations: map[string]string{pruneAnnotation: "false", sharedAnnotation: "true"}}
	}
	configuration := map[string]string{bundled.PullSecrets: "", bundled.Account: ""}
	for key, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			return fleet.Spec{}, errcode.New(errcode.Internal, "%w", err)
		}
		configuration[key] = string(text)
	}
	no := false
	return fleet.Spec{
		Namespace: r.Name, Git: &fleet.Git{URL: bundled.NamespaceURL, Ref: files.Digest.String()}, Configuration: configuration, Adopt: true,
		SyncConfig: &fleet.SyncConfig{CreateNamespace: &no},
	}, nil
}
