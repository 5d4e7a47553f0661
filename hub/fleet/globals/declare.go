package globals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/partial"
	"github.com/axle-cd/axle/internal/rule"
)

// Config holds what Globals needs. All fields are required.
type Config struct {
	Fleet   fleet.Templates
	Rows    fleet.Store
	Moves   fleet.MoveStore
	Sources fleet.Sources
	Writer  fleet.Writer
	Store   Store
	// Bindings are those of the templates.
	Bindings BindingStore
	Work     WorkStore
	Targets  TargetStore
	States   StateStore
	Holds    HoldStore
	// Rollouts and Waves store the rollouts of changed templates.
	Rollouts fanout.RolloutStore
	Waves    fanout.TargetStore
	Clock    clock.Clock
	Log      *slog.Logger
}

// Globals manages global services. Its methods are safe for concurrent use.
type Globals struct {
	config Config
	// renderings are what was rendered lately, failures too: the same is not tried again.
	renderings *cost.Cache[renderKey, rendering]

	spreading sync.Mutex
	open      map[Work]*comparison // of SpreadSome
}

// New returns the global services of a fleet.
func New(c Config) *Globals {
	return &Globals{config: c, renderings: cost.NewCache[renderKey, rendering](keptRenderings)}
}

func (g *Globals) now() int64 { return clock.Micros(g.config.Clock.Now()) }

// Request declares a global service.
type Request struct {
	Name string
	// Project is a name; empty is all clusters of the hub.
	Project   string
	Selectors Selectors
	Cascade   Cascade
	Reparent  bool
	// Interval is in microseconds.
	Interval int64
	// Context is a JSON object; empty is none.
	Context string
	// Plan says how a changed template rolls out; nil is everywhere at once.
	Plan *fanout.Plan
	Spec fleet.Spec
	// Namespace is the managed namespace that it belongs to; only
	// hub/fleet/namespaces sets it.
	Namespace string
	// DryRun checks everything and stores nothing.
	DryRun bool
}

var errDryRun = errors.New("dry run")

func noun(name string) string { return "global service " + name }

// Get returns a global service. NotFound.
func (g *Globals) Get(ctx context.Context, name string) (Global, error) {
	return g.config.Store.GlobalByName(ctx, name)
}

// State returns how the targets of a global service are, with up to 100 clusters on
// which one could not be made.
func (g *Globals) State(ctx context.Context, id string) (State, error) {
	state, err := g.config.States.TargetState(ctx, id)
	if err != nil {
		return state, err
	}
	state.Failures, err = g.config.States.Failures(ctx, id, 100)
	return state, err
}

// Uncounted returns the first 100 clusters, by id, that a global service of all projects
// would select if an administrator had set their tags.
func (g *Globals) Uncounted(ctx context.Context, v Global) ([]Uncounted, error) {
	if v.ProjectID != "" || len(v.Selectors.Tags) == 0 {
		return nil, nil
	}
	var all []Uncounted
	for after := ""; ; {
		page, err := g.config.States.UncountedAfter(ctx, after, chunk)
		if err != nil {
			return nil, err
		}
		for _, c := range page {
			after = c.ID
			var keys []string
			for _, key := range c.UncountedTags() {
				if _, wanted := v.Selectors.Tags[key]; wanted {
					keys = append(keys, key)
				}
			}
			if len(keys) == 0 || v.selects(c) {
				continue
			}
			c.AdminTags = c.Tags
			if v.selects(c) {
				all = append(all, Uncounted{c.Name, keys})
			}
			if len(all) == 100 {
				return all, nil
			}
		}
		if len(page) < chunk {
			return all, nil
		}
	}
}

// List returns a page in order of name, without templates, and the name after
// which the next one begins, empty at the end.
func (g *Globals) List(ctx context.Context, after string, size int, reach *identity.Reach) ([]Global, string, error) {
	if size <= 0 {
		size = 100
	}
	size = min(size, 500)
	all, err := g.config.Store.Globals(ctx, after, size+1, reach)
	if err != nil || len(all) <= size {
		return all, "", err
	}
	return all[:size], all[size-1].Name, nil
}

// Apply creates or changes a global service by its name. Its targets follow within
// moments; see Spread.
func (g *Globals) Apply(ctx context.Context, by string, r Request) (Global, fleet.Outcome, error) {
	if err := r.check(); err != nil {
		return Global{}, "", err
	}
	// A retry of the transaction takes values out of the spec again.
	spec, out, outcome := r.Spec, Global{}, fleet.Outcome("")
	err := g.config.Fleet.Declaring(ctx, r.DryRun, false, func(ctx context.Context) (err error) {
		r.Spec = spec
		if out, outcome, err = g.apply(ctx, by, r); err == nil && r.DryRun {
			return errDryRun
		}
		return err
	})
	if err != nil && !(r.DryRun && errors.Is(err, errDryRun)) {
		return Global{}, "", err
	}
	return out, outcome, nil
}

// check returns an Invalid error for what can never work.
func (r *Request) check() error {
	invalid := func(at, format string, args ...any) error {
		return errcode.New(errcode.Invalid, "%s: %s", at, fmt.Sprintf(format, args...))
	}
	if r.Selectors.Distro != "" && !slices.Contains(rule.Distros, r.Selectors.Distro) {
		return invalid("distro", "%.40q is not one of %v", r.Selectors.Distro, rule.Distros)
	}
	if len(r.Selectors.Tags) > 100 || len(r.Selectors.IgnoreClusters) > 10_000 {
		return invalid("tags", "at most 100 tags and 10000 ignored clusters")
	}
	if r.Cascade != Orphan && !slices.Contains(rule.Cascades, string(r.Cascade)) {
		return invalid("cascade", "%.40q is not %s", r.Cascade, rule.Or(rule.Cascades))
	}
	if len(r.Context) > 64<<10 {
		return invalid("context", "is larger than 64 KiB")
	}
	if err := bounded.CheckJSON([]byte(r.Context), nil, bounded.Most(64<<10)); err != nil {
		return invalid("context", "%s", err)
	}
	if _, err := object(r.Context); err != nil {
		return err
	}
	if r.Plan != nil {
		if _, err := r.Plan.Normal(); err != nil {
			return invalid("rollout", "%s", err)
		}
	}
	normal, err := partial.Normal(r.Spec)
	if err != nil {
		return err
	}
	r.Spec = normal
	checked, err := sample(r.Spec)
	if err != nil {
		return err
	}
	return specrules.Validate(r.Name, checked)
}

func (g *Globals) apply(ctx context.Context, by string, r Request) (Global, fleet.Outcome, error) {
	before, err := g.config.Store.GlobalByName(ctx, r.Name)
	exists := err == nil
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return before, "", err
	}
	if exists && before.Namespace != r.Namespace {
		return before, "", before.part()
	}
	if before.Deleting {
		return before, "", errcode.New(errcode.Conflict, "%s is being deleted; wait until it is gone", noun(r.Name))
	}
	if exists {
		if err := g.bindFormer(ctx, &before); err != nil && !declared(err) {
			return before, "", err
		}
	}
	next := before
	next.Name, next.Selectors, next.Cascade, next.Reparent = r.Name, r.Selectors, r.Cascade, r.Reparent
	next.Interval, next.Context, next.Spec, next.Plan, next.Namespace = r.Interval, r.Context, r.Spec, r.Plan, r.Namespace
	if !exists {
		if err := fleet.CheckFree(r.Name); err != nil {
			return before, "", err
		}
		next.ID, next.CreatedAt, next.ManagedBy = identity.NewID(Prefix), g.now(), managed.Created(ctx)
	}
	if err := g.enter(ctx, &next, r.Project); err != nil {
		return before, "", err
	}
	if next.Selectors.Ignored, err = g.ignored(ctx, next.Selectors.IgnoreClusters, before.Selectors.Ignored); err != nil {
		return before, "", err
	}
	if err := g.declare(ctx, &next, before); err != nil {
		return before, "", err
	}
	next.hold(before)
	changed := !exists || !reflect.DeepEqual(next, before)
	if exists {
		if next.ManagedBy, err = managed.Write(ctx, noun(r.Name), before.ManagedBy, changed); err != nil {
			return before, "", err
		}
		if reflect.DeepEqual(next, before) {
			return before, fleet.Unchanged, g.gather(ctx, before.ID)
		}
	}
	next.DeclaredBy, next.UpdatedAt = by, g.now()
	kind, message, outcome := "global_service.created", "", fleet.Created
	if exists {
		kind, message, outcome = "global_service.updated", managed.TookOver(before.ManagedBy, next.ManagedBy), fleet.Updated
	}
	if message != "" {
		kind = "global_service.taken_over"
	}
	err = g.put(ctx, &next, kind, by, message)
	return next, outcome, err
}

// part is the error of a caller that does not know what it is a part of.
func (g Global) part() error {
	if g.Namespace == "" {
		return errcode.New(errcode.Conflict, "%s exists and is not a part of a managed namespace: rename one of the two", noun(g.Name))
	}
	return errcode.New(errcode.Conflict, "%s is a part of the managed namespace %s: change that one, with axle namespaces", noun(g.Name), g.Namespace)
}

// put stores a changed global service, and what has to be compared.
func (g *Globals) put(ctx context.Context, next *Global, kind, by, message string) (err error) {
	next.Version++
	if next.SpecVersion, err = g.config.Store.PutGlobal(ctx, *next); err != nil {
		return err
	}
	if err := g.compareAll(ctx, next.ID); err != nil {
		return err
	}
	return event.Record(ctx, event.Entry{Kind: kind, Object: noun(next.Name), By: by, Message: message})
}

// compareAll asks for the comparison of a global service with all clusters.
func (g *Globals) compareAll(ctx context.Context, id string) error {
	if err := g.config.Work.AddWork(ctx, Work{GlobalID: id, Edition: g.now()}); err != nil {
		return err
	}
	return event.Append(ctx, event.Change{Kind: event.KindGlobal, Key: id})
}

// enter puts a global service into a project by name, or into the hub as a whole.
func (g *Globals) enter(ctx context.Context, next *Global, project string) error {
	next.ProjectID, next.Project = "", ""
	if project == "" {
		return nil
	}
	p, err := g.config.Rows.ProjectByName(ctx, project, false)
	if err != nil {
		return err
	}
	if _, err := g.config.Fleet.ProjectByID(ctx, p.ID); err != nil {
		return err
	}
	next.ProjectID, next.Project = p.ID, p.Name
	return event.Append(ctx, event.Change{Kind: event.KindProjectMember, Key: p.ID})
}

// ignored returns the clusters of handles: those of before, which may have other handles
// now, and those that have them.
func (g *Globals) ignored(ctx context.Context, handles []string, before map[string]string) (map[string]string, error) {
	var ids map[string]string
	for _, handle := range handles {
		id := before[handle]
		if id == "" {
			c, err := g.config.Rows.ClusterByHandle(ctx, handle)
			if errcode.Is(err, errcode.NotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			id = c.ID
		}
		if ids == nil {
			ids = map[string]string{}
		}
		ids[handle] = id
	}
	return ids, nil
}

// declare stores the values of a template, binds its sources, and follows them where
// they are the same on all clusters.
func (g *Globals) declare(ctx context.Context, next *Global, before Global) error {
	contexts := next.Spec.Contexts
	t := next.template()
	t.Secrets = before.Secrets
	if before.ID == "" {
		t.Secrets = ""
	}
	t.Spec.Contexts = plainContexts(next.Spec)
	if err := g.config.Fleet.TakeValues(ctx, &t, before.template().Service); err != nil {
		return err
	}
	next.Spec, next.Secrets = t.Spec, t.Secrets
	next.Spec.Contexts = contexts
	if err := g.bind(ctx, next, before); err != nil || hasLiquid(next.Spec) {
		return err
	}
	return g.config.Fleet.FollowSources(ctx, &t.Service, next.Repositories)
}

// Delete deletes a global service after its targets, as its cascade says. It is
// being deleted until they are released. Conflict when its template is protected
// and they would be deleted, or when it is not of this managed namespace, empty for
// none.
func (g *Globals) Delete(ctx context.Context, by, name, namespace string) error {
	return g.config.Writer.Write(ctx, func(ctx context.Context) error {
		v, err := g.config.Store.GlobalByName(ctx, name)
		if err == nil && v.Namespace != namespace {
			err = v.part()
		}
		if err != nil || v.Deleting {
			return err
		}
		if v.Spec.Protect && v.Cascade != Orphan {
			return errcode.New(errcode.Conflict, "%s is protected; set protect to false first", noun(name))
		}
		if v.ManagedBy, err = managed.Write(ctx, noun(name), v.ManagedBy, true); err != nil {
			return err
		}
		v.Deleting, v.UpdatedAt, v.Held = true, g.now(), 0
		return g.put(ctx, &v, "global_service.deleting", by, cmp.Or(string(v.Cascade), "its services stay without an owner"))
	})
}

// Retake compares the cluster of a service again if a global service made it, since
// values that it takes from elsewhere changed, and reports whether one did.
func (g *Globals) Retake(ctx context.Context, serviceID string) (made bool, err error) {
	err = g.config.Writer.Write(ctx, func(ctx context.Context) error {
		s, err := g.config.Rows.ServiceByID(ctx, serviceID)
		if made = err == nil && s.ManagedBy.Tool == managed.Hub; !made || err != nil {
			return err
		}
		if err := g.config.Work.AddWork(ctx, Work{ClusterID: s.ClusterID, Edition: g.now()}); err != nil {
			return err
		}
		return event.Append(ctx, event.Change{Kind: event.KindGlobal, Key: s.ClusterID})
	})
	if errcode.Is(err, errcode.NotFound) {
		return false, nil
	}
	return made, err
}

// Reconfigure updates a template with the values that it takes from elsewhere, as
// fleet.Reconfigure does for a service.
func (g *Globals) Reconfigure(ctx context.Context, id, by string, refresh bool) (changed bool, err error) {
	err = g.config.Fleet.Declaring(ctx, false, refresh, func(ctx context.Context) error {
		changed = false
		before, err := g.config.Store.GlobalByID(ctx, id)
		if err != nil || before.Deleting {
			return err
		}
		if err := g.bindFormer(ctx, &before); err != nil {
			return err
		}
		next := before
		if err := g.declare(ctx, &next, before); err != nil || next.Secrets == before.Secrets {
			return err
		}
		next.hold(before)
		changed, next.UpdatedAt = true, g.now()
		return g.put(ctx, &next, "global_service.reconfigured", by, "values that it takes from elsewhere changed")
	})
	if errcode.Is(err, errcode.NotFound) {
		return false, nil
	}
	return changed, err
}
