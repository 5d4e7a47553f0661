package clusterapi

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/componentlist"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/tarball"
)

// Fleet is what this package changes; *fleet.Fleet implements it.
type Fleet interface {
	Project(ctx context.Context, name string) (fleet.Project, error)
	ClusterNamed(ctx context.Context, name string) (fleet.Cluster, error)
	MakeCluster(ctx context.Context, by string, m fleet.MadeCluster) (fleet.Cluster, error)
	RemakeCluster(ctx context.Context, by, name string, m fleet.Remade) error
	ReplaceMachine(ctx context.Context, by, cluster, machine, uid string) error
	Child(ctx context.Context, managementID, serviceID string) (fleet.Cluster, error)
	// Service returns a service with its state, PutBuiltin writes one of the hub's own.
	Service(ctx context.Context, ref fleet.Ref) (fleet.ServiceView, error)
	PutBuiltin(ctx context.Context, clusterID string, b fleet.Builtin) error
	// Destroyed returns the clusters whose objects are gone, and how many still go.
	Destroyed(ctx context.Context) (gone []fleet.Cluster, going int, err error)
}

// Registered is a cluster template as an administrator declared it.
type Registered struct {
	ID, Name string
	// Commit, Folder (a digest) and Files are what the folder has at the pinned commit, Kinds
	// what may come out.
	Commit string
	Folder string
	Files  map[string]string
	Kinds  []string
	// Management and Projects are ids of clusters and of projects.
	Management, Projects []string
}

// Config holds what Clusters needs. All fields but Components are required.
type Config struct {
	Fleet Fleet
	// Components are what the hub may install of Cluster API.
	Components []componentlist.Component
	// Template returns a template by name. NotFound; Conflict when it is not pinned.
	Template func(ctx context.Context, name string) (Registered, error)
	// TemplateOf returns the template of a cluster, with the folder that it was made of.
	// Conflict when the hub has it no more.
	TemplateOf func(ctx context.Context, origin fleet.Origin) (Registered, error)
	// ProjectsOf returns the ids of the projects of the template that a cluster was made
	// from: none when it is gone.
	ProjectsOf func(ctx context.Context, origin fleet.Origin) ([]string, error)
	// Names are the names of clusters by id, of those that exist.
	Names func(ctx context.Context, ids []string) (map[string]string, error)
	// Keep stores a tarball that agents fetch by its digest.
	Keep func(ctx context.Context, digest string, data []byte) error
	// Forget removes the row of a cluster that is gone, and its credentials.
	Forget func(ctx context.Context, clusterID string) error
	// Write runs a function in a transaction.
	Write func(ctx context.Context, fn func(ctx context.Context) error) error
	// Token ends the bootstrap tokens of a cluster and makes a new one, in the transaction of
	// the context. Manifests are the agent's objects with a token.
	Token     func(ctx context.Context, c fleet.Cluster) (token string, expiresAt int64, err error)
	Manifests func(token string) (string, error)
	Log       *slog.Logger
}

// Clusters makes clusters from templates. Its methods are safe for concurrent use.
type Clusters struct {
	config Config
	wake   chan struct{}
	// going is set while the service of a cluster may be on its way out: otherwise changes of
	// services wake nobody.
	going atomic.Bool
}

// New returns the clusters of a hub.
func New(c Config) *Clusters { return &Clusters{config: c, wake: make(chan struct{}, 1)} }

// Request is a cluster to make.
type Request struct {
	fleet.NewCluster
	Wish
	// Template and Management are names.
	Template, Management string
}

// Create makes a cluster from a template. The caller may create clusters in the project.
func (s *Clusters) Create(ctx context.Context, by string, r Request) (fleet.Cluster, error) {
	t, err := s.config.Template(ctx, r.Template)
	if err != nil {
		return fleet.Cluster{}, err
	}
	project, err := s.config.Fleet.Project(ctx, r.Project)
	if err != nil {
		return fleet.Cluster{}, err
	}
	if err := admits(t.Name, t.Projects, project.ID, project.Name); err != nil {
		return fleet.Cluster{}, err
	}
	managementID, err := s.management(ctx, t, r.Management)
	if err != nil {
		return fleet.Cluster{}, err
	}
	r.Wish.Name = r.NewCluster.Name
	place := "cluster-" + r.Wish.Name + "-" + identity.NewID("")[:suffix]
	origin, service, err := s.compose(ctx, t, r.Wish, fleet.Origin{TemplateID: t.ID, Template: t.Name, Commit: t.Commit, Folder: t.Folder, Service: place, Namespace: place})
	if err != nil {
		return fleet.Cluster{}, err
	}
	return s.config.Fleet.MakeCluster(ctx, by, fleet.MadeCluster{
		NewCluster: r.NewCluster, ManagementID: managementID, Origin: origin, Builtin: service,
		// The template may have changed since it was read.
		Also: func(ctx context.Context) error { return s.admitted(ctx, origin, project.ID, project.Name) },
	})
}

// compose makes the objects of a cluster and stores them, and returns how it is made now and
// the service with them.
func (s *Clusters) compose(ctx context.Context, t Registered, w Wish, origin fleet.Origin) (fleet.Origin, fleet.Builtin, error) {
	read, err := Read(t.Files, t.Kinds)
	if err != nil {
		return origin, fleet.Builtin{}, errcode.New(errcode.Unprocessable, "template %s at %.12s: %w", t.Name, t.Commit, err)
	}
	made, err := read.Compose(ctx, w)
	if err != nil {
		return origin, fleet.Builtin{}, err
	}
	d, data, err := pack(made.Files)
	if err != nil {
		return origin, fleet.Builtin{}, err
	}
	// Store it first: an agent must never be given a digest that nobody has.
	if err := s.config.Keep(ctx, d.String(), data); err != nil {
		return origin, fleet.Builtin{}, err
	}
	origin.Version, origin.Variables, origin.Given, origin.Checks = made.Version, made.Variables, made.Given, made.Checks
	return origin, fleet.Builtin{Name: origin.Service, Namespace: origin.Namespace, Version: t.Commit, Digest: d.String(), Size: int64(len(data)), Contained: true}, nil
}

// maxTries bounds how often a change of single variables is made anew.
const maxTries = 10

// Change changes the variables of a cluster that was made from a template, of which it keeps
// the commit: those of w.Variables, or without them the given ones of before, and w.Texts and
// w.Pool in place of single ones. also is called in the same transaction, after it; an error
// of it ends that. Unprocessable for a cluster that was not made from a template. The same
// variables are no change, and a wish without any only calls also.
//
// A change of single variables is made anew of what somebody else stored meanwhile, so it
// undoes nothing. One of all variables is a Conflict then.
func (s *Clusters) Change(ctx context.Context, by, name string, w Wish, also func(ctx context.Context) error) error {
	if w.Pool != nil && (w.Variables != "" || len(w.Texts) > 0) {
		return errcode.New(errcode.Invalid, "pool: is changed without other variables; leave variables and set out")
	}
	if w.Pool == nil && w.Variables == "" && len(w.Texts) == 0 {
		return s.config.Write(ctx, also)
	}
	c, err := s.config.Fleet.ClusterNamed(ctx, name)
	for try := 1; err == nil; try++ {
		if err = s.change(ctx, by, c, w, also); !errcode.Is(err, errcode.Conflict) || w.Variables != "" || try == maxTries {
			return err
		}
		before, refused := c.Origin, err
		if c, err = s.config.Fleet.ClusterNamed(ctx, name); err == nil && c.Origin == before {
			return refused
		}
	}
	return err
}

// change changes the variables of a cluster as it was read.
func (s *Clusters) change(ctx context.Context, by string, c fleet.Cluster, w Wish, also func(ctx context.Context) error) error {
	if !c.Origin.Known() {
		return errcode.New(errcode.Unprocessable, "variables: cluster %s was not made from a template, so it has none", c.Name)
	}
	t, err := s.config.TemplateOf(ctx, c.Origin)
	if err != nil {
		return err
	}
	if w.Name = c.Name; w.Variables == "" {
		w.Variables, w.Replaces = cmp.Or(c.Origin.Given, c.Origin.Variables), true
	}
	origin, service, err := s.compose(ctx, t, w, c.Origin)
	if err != nil {
		return err
	}
	if lower(origin.Version, c.Origin.Version) {
		return errcode.New(errcode.Invalid, "variables.version: %s is lower than %s, which the cluster has; Cluster API makes no version lower", origin.Version, c.Origin.Version)
	}
	return s.config.Write(ctx, func(ctx context.Context) error {
		if origin == c.Origin {
			return also(ctx)
		}
		err := s.config.Fleet.RemakeCluster(ctx, by, c.Name, fleet.Remade{
			Before: c.Origin, After: origin, Builtin: service,
			Also: func(ctx context.Context, c fleet.Cluster) error {
				return s.admitted(ctx, origin, c.ProjectID, c.Project)
			},
		})
		if err != nil {
			return err
		}
		return also(ctx)
	})
}

// Variables returns the JSON Schema of a template's variables, and the commit that it is of.
func (s *Clusters) Variables(ctx context.Context, template string) (commit, schema string, err error) {
	t, err := s.config.Template(ctx, template)
	return t.Commit, t.Files[schemaFile], err
}

// Moving returns Forbidden for a cluster that moves to a project which its template is not
// for: whoever may change it there would use the credentials of providers.
func (s *Clusters) Moving(ctx context.Context, before, after fleet.Cluster) error {
	if !before.Origin.Known() || before.ProjectID == after.ProjectID {
		return nil
	}
	return s.admitted(ctx, before.Origin, after.ProjectID, after.Project)
}

// admitted returns Forbidden for a project that is not one of the template's that a cluster
// is of, in the transaction that puts it there.
func (s *Clusters) admitted(ctx context.Context, origin fleet.Origin, id, name string) error {
	projects, err := s.config.ProjectsOf(ctx, origin)
	if err != nil {
		return err
	}
	return admits(origin.Template, projects, id, name)
}

// admits returns Forbidden for a project that is not one of a template's. The default one
// always is.
func admits(template string, projects []string, id, name string) error {
	if id == fleet.DefaultProjectID || slices.Contains(projects, id) {
		return nil
	}
	return errcode.New(errcode.Forbidden, "template: %s is not for project %s, because it uses the credentials of providers; an administrator adds the project to the template", template, name)
}

// management returns the id of the management cluster of a name, which is one of the
// template's. The answer about another one is the same whether it exists or not.
func (s *Clusters) management(ctx context.Context, t Registered, name string) (string, error) {
	names, err := s.config.Names(ctx, t.Management)
	if err != nil {
		return "", err
	}
	if name == "" && len(names) == 1 {
		return slices.Collect(maps.Keys(names))[0], nil
	}
	if name == "" {
		return "", errcode.New(errcode.Invalid, "management_cluster: is needed, because template %s has %d of them", t.Name, len(names))
	}
	for id, of := range names {
		if of == name {
			return id, nil
		}
	}
	return "", errcode.New(errcode.Invalid, "management_cluster: %.80q is not one of template %s; axle clusters templates get %s shows them", name, t.Name, t.Name)
}

// suffix is how much of an id is in the name of a namespace: nobody can have made it before.
const suffix = 12

// pack makes the tarball of files.
func pack(files map[string]string) (digest.Digest, []byte, error) {
	var out bytes.Buffer
	d, _, err := tarball.Write(&out, func(yield func(tarball.Entry, error) bool) {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if !yield(tarball.Entry{Path: name, Type: digest.File, Size: int64(len(files[name])), Body: strings.NewReader(files[name])}, nil) {
				return
			}
		}
	}, tarball.Options{Concurrency: 1})
	if err != nil {
		return "", nil, errcode.New(errcode.Internal, "pack the objects of a cluster: %w", err)
	}
	return d, out.Bytes(), nil
}

// Rebuild implements event.Subscriber.
func (s *Clusters) Rebuild(context.Context) error {
	s.going.Store(true)
	s.woken()
	return nil
}

// Apply implements event.Subscriber: the service of a cluster may be gone.
func (s *Clusters) Apply(_ context.Context, rows []event.Row) error {
	for _, r := range rows {
		if r.Kind == event.KindCluster {
			s.going.Store(true)
		}
		if s.going.Load() && (r.Kind == event.KindCluster || r.Kind == event.KindService) {
			s.woken()
		}
	}
	return nil
}

func (s *Clusters) woken() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run removes the rows of clusters whose objects are gone, on the one replica that may. It
// reads nothing while no cluster and no service changes.
func (s *Clusters) Run(ctx context.Context) error {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return nil
		}
		for {
			err := s.finish(ctx)
			if err == nil || ctx.Err() != nil {
				break
			}
			s.config.Log.LogAttrs(ctx, slog.LevelWarn, "clusters that were destroyed stay in the hub; trying again", slog.Any(logkey.Error, err))
			if jitter.Wait(ctx, backoff.Next()) != nil {
				return nil
			}
		}
		backoff = jitter.Backoff{Min: time.Second, Max: time.Minute}
	}
}

func (s *Clusters) finish(ctx context.Context) error {
	gone, going, err := s.config.Fleet.Destroyed(ctx)
	if err != nil {
		return err
	}
	if len(gone)+going == 0 {
		s.going.Store(false)
	}
	for _, c := range gone {
		if err := s.config.Forget(ctx, c.ID); err != nil && !errcode.Is(err, errcode.NotFound) {
			return err
		}
	}
	return nil
}

// Unpack reads the files of a template's folder out of a tarball. Unprocessable for one that
// has more than a template may.
func Unpack(ctx context.Context, r io.Reader) (map[string]string, error) {
	files := map[string]string{}
	for e, err := range tarball.Read(ctx, r, tarball.Limits{Bytes: maxFolder, Files: maxFiles, Depth: maxDepth}) {
		if err == nil && e.Type != digest.File && e.Type != digest.Executable {
			err = wrong(e.Path, "", "is not a file; a template has no links")
		}
		if err != nil {
			return nil, errcode.New(errcode.Unprocessable, "%w", err)
		}
		text, err := io.ReadAll(e.Body)
		if err != nil {
			return nil, errcode.New(errcode.Unprocessable, "%s: %w", e.Path, err)
		}
		files[e.Path] = string(text)
	}
	return files, nil
}
