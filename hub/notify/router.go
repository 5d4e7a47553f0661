package notify

import (
	"context"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// maxRegex limits a regular expression, in bytes, and maxFilters how many a router has:
// each event is matched with all of them.
const maxRegex, maxFilters = 500, 20

const (
	// longest is the longest name of an object, such as "edge-1/web", and dearest what
	// matching one with an expression may take.
	longest, dearest = 127, 100
	// share is what the routers of one project may take of a turn, about 200 ms: those of
	// the others wait for it.
	share = 4 * cost.Budget
)

// Filter selects events; all fields that are set must match.
type Filter struct {
	// Regex must match the name of the event's object.
	Regex string `json:"regex,omitempty"`
	// Service is a name, Cluster a handle or a name.
	Service string `json:"service,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	// Pipeline matches nothing yet.
	Pipeline string `json:"pipeline,omitempty"`
}

// Router sends events to sinks.
type Router struct {
	ID   string
	Name string
	// ProjectID is empty for the hub as a whole; Project is its name.
	ProjectID, Project string
	Events             []string
	Filters            []Filter
	// Sinks by name.
	Sinks                []string
	ManagedBy            managed.Manager
	DeclaredBy           string
	CreatedAt, UpdatedAt int64
}

// Scope is where the router is.
func (r Router) Scope() identity.Scope { return identity.Scope{Project: r.ProjectID} }

// RouterStore keeps routers.
type RouterStore interface {
	// Routers returns all, by name.
	Routers(ctx context.Context) ([]Router, error)
	// RouterByName returns one. NotFound.
	RouterByName(ctx context.Context, name string) (Router, error)
	// PutRouter creates or replaces one. Before the first one, the cursor moves to the
	// last event: nobody asked for what was before it.
	PutRouter(ctx context.Context, r Router) error
	DeleteRouter(ctx context.Context, id string) error
}

// Routers lists all routers, by name.
func (n *objects) Routers(ctx context.Context) ([]Router, error) {
	return n.config.Routers.Routers(ctx)
}

// Router returns a router. NotFound.
func (n *objects) Router(ctx context.Context, name string) (Router, error) {
	return n.config.Routers.RouterByName(ctx, name)
}

// ApplyRouter creates or changes a router by its name, from its Name, Project, Events,
// Filters and Sinks.
func (n *objects) ApplyRouter(ctx context.Context, by string, want Router, dryRun bool) (out Router, outcome Outcome, err error) {
	if err := want.check(); err != nil {
		return out, "", err
	}
	err = n.config.Writer.Write(ctx, func(ctx context.Context) error {
		out, outcome, err = n.applyRouter(ctx, by, want, dryRun)
		return err
	})
	return out, outcome, err
}

func (n *objects) applyRouter(ctx context.Context, by string, want Router, dryRun bool) (next Router, outcome Outcome, err error) {
	before, err := n.config.Routers.RouterByName(ctx, want.Name)
	exists := err == nil
	if err != nil && !errcode.Is(err, errcode.NotFound) {
		return next, "", err
	}
	projectID, err := n.projectID(ctx, want.Project)
	if err != nil {
		return next, "", err
	}
	if next = before; !exists {
		if err := full(ctx, n.config.Routers.Routers, projectID, "routers"); err != nil {
			return next, "", err
		}
		next = Router{ID: identity.NewID("nrt_"), Name: want.Name, ProjectID: projectID, Project: want.Project, ManagedBy: managed.Created(ctx), CreatedAt: n.now()}
	}
	if next.ProjectID != projectID {
		return next, "", errcode.New(errcode.Conflict, "notification router %s is in another project, which cannot be changed: delete it and create it again", want.Name)
	}
	for _, name := range want.Sinks {
		if _, err := n.config.Sinks.SinkByName(ctx, name); err != nil {
			return next, "", err
		}
	}
	next.Events, next.Filters, next.Sinks = sorted(want.Events), want.Filters, sorted(want.Sinks)
	changed := !slices.Equal(next.Events, before.Events) || !slices.Equal(next.Sinks, before.Sinks) || len(next.Filters)+len(before.Filters) > 0 && !reflect.DeepEqual(next.Filters, before.Filters)
	outcome = Created
	if exists {
		if next.ManagedBy, err = managed.Write(ctx, "notification router "+want.Name, before.ManagedBy, changed); err != nil {
			return before, "", err
		}
		if outcome = Updated; !changed && next.ManagedBy == before.ManagedBy {
			return before, Unchanged, nil
		}
	}
	if dryRun {
		return next, outcome, nil
	}
	next.DeclaredBy, next.UpdatedAt = by, n.now()
	if err := n.config.Routers.PutRouter(ctx, next); err != nil {
		return next, "", err
	}
	return next, outcome, event.Record(ctx, event.Entry{
		Kind: "notification_router." + string(outcome), Object: "notification router " + want.Name, By: by, Message: managed.TookOver(before.ManagedBy, next.ManagedBy),
	})
}

// DeleteRouter deletes a router. What it made already is still sent.
func (n *objects) DeleteRouter(ctx context.Context, by, name string) error {
	return n.config.Writer.Write(ctx, func(ctx context.Context) error {
		r, err := n.config.Routers.RouterByName(ctx, name)
		if err != nil {
			return err
		}
		if _, err := managed.Write(ctx, "notification router "+name, r.ManagedBy, true); err != nil {
			return err
		}
		if err := n.config.Routers.DeleteRouter(ctx, r.ID); err != nil {
			return err
		}
		return event.Record(ctx, event.Entry{Kind: "notification_router.deleted", Object: "notification router " + name, By: by})
	})
}

// check returns Invalid for a router that cannot be.
func (r Router) check() error {
	switch {
	case !rule.Name.Valid(r.Name):
		return invalid("name: %.80q is not a name; use %s", r.Name, rule.Name.Words)
	case len(r.Sinks) == 0:
		return invalid("sinks: is empty; name the sinks that get the events")
	case len(r.Sinks) > maxList || len(r.Events) > maxList || len(r.Filters) > maxFilters:
		return invalid("events, sinks and filters: at most %d, %d and %d", maxList, maxList, maxFilters)
	}
	for i, f := range r.Filters {
		if f == (Filter{}) {
			return invalid("filters[%d]: is empty; set regex, service or cluster, or leave the filter out", i)
		}
		if len(f.Regex) > maxRegex {
			return invalid("filters[%d].regex: has %d bytes; at most %d are allowed", i, len(f.Regex), maxRegex)
		}
		if _, err := expression(f.Regex); err != nil {
			return invalid("filters[%d].regex: %w", i, err)
		}
	}
	return checkEvents(r.Events)
}

// Happened is an event with the names and projects of what it is about.
type Happened struct {
	event.Entry
	// ClusterName, ClusterHandle and ServiceName are empty for what is gone, as are the
	// projects: those of the service and of the cluster.
	ClusterName, ClusterHandle, ServiceName string
	ServiceProject, ClusterProject          string
}

// subject is the name of the object of the event, without its kind.
func (h Happened) subject() string {
	_, name, _ := strings.Cut(h.Object, " ")
	return name
}

// expression compiles the regular expression of a filter, unless it takes too much.
func expression(text string) (*cost.Pattern, error) {
	p, err := cost.Compile(text)
	if err == nil && p.Steps(longest) > dearest {
		return nil, fmt.Errorf("takes %d steps to match a name, and at most %d are allowed; use fewer or shorter repetitions", p.Steps(longest), dearest)
	}
	return p, err
}

// matcher is a router that is ready to look at many events.
type matcher struct {
	Router
	at    int64
	kinds map[string]bool
	regex []*cost.Pattern
}

func newMatcher(r Router) matcher {
	m := matcher{Router: r, at: r.lane(), kinds: kindsOf(r.Events), regex: make([]*cost.Pattern, len(r.Filters))}
	for i, f := range r.Filters {
		m.regex[i], _ = expression(f.Regex) // it was checked; nil matches nothing
	}
	return m
}

// lane is the number under which is stored that the routers of a project are behind. It is
// never that of the cursor.
func (r Router) lane() int64 {
	sum := fnv.New64a()
	sum.Write([]byte("project " + r.ProjectID))
	return int64(sum.Sum64()>>1) | 1<<32
}

// wants reports whether an event goes to the router's sinks, and what it took to know. It
// is where the projects of routers are kept apart.
func (m matcher) wants(h Happened) (wants bool, steps int) {
	if !m.kinds[h.Kind] || m.ProjectID != "" && m.ProjectID != h.ServiceProject && m.ProjectID != h.ClusterProject {
		return false, 0
	}
	subject := h.subject()
	for i, f := range m.Filters {
		if f.Pipeline != "" || m.regex[i] == nil || f.Service != "" && f.Service != h.ServiceName || f.Cluster != "" && f.Cluster != h.ClusterHandle && f.Cluster != h.ClusterName {
			continue
		}
		matches, took, _ := m.regex[i].Match(subject, cost.Budget) // what cannot be a name is not matched
		if steps += took; matches {
			return true, steps
		}
	}
	return len(m.Filters) == 0, steps
}
