package globals

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
)

// Prefix begins the id of every global service.
const Prefix = "gsv-"

// Selectors say which clusters run the service; all that are set must match.
type Selectors struct {
	// Tags that a cluster must all have.
	Tags map[string]string `json:"tags,omitempty"`
	// Distro is one of rule.Distros, or empty.
	Distro string `json:"distro,omitempty"`
	// Mgmt set to false leaves out the hub's own cluster.
	Mgmt *bool `json:"mgmt,omitempty"`
	// IgnoreClusters are handles.
	IgnoreClusters []string `json:"ignoreClusters,omitempty"`
	// Ignored are the ids of the clusters that had these handles when they were written:
	// another handle does not bring back what was left out.
	Ignored map[string]string `json:"ignored,omitempty"`
}

// Cascade says what happens to a target that is no longer wanted.
type Cascade string

// The cascades: Orphan leaves a service of nobody, Delete removes it from the hub
// and from its cluster, Detach from the hub only.
const (
	Orphan Cascade = ""
	Delete Cascade = "delete"
	Detach Cascade = "detach"
)

// Global is a global service.
type Global struct {
	ID   string
	Name string
	// ProjectID limits it to clusters of a project, and is where its targets are;
	// empty is all clusters, each target in its cluster's project. Project is its
	// name, filled by reads.
	ProjectID string
	Project   string
	Selectors Selectors
	Cascade   Cascade
	// Reparent takes over services of its name that others made.
	Reparent bool
	// Interval is stored for those who read it back; it has no effect, because
	// changes are applied when they happen. Microseconds.
	Interval int64
	// Context is a JSON object, the value of context in the template's Liquid;
	// empty is none.
	Context string
	// Spec is the template, with the keys of its secrets; Secrets names the
	// documents of its values.
	Spec    fleet.Spec
	Secrets string
	// Repositories are those that the sources of Spec are bound to, in order; nil for a
	// template of before bindings were kept. Targets take their sources from them.
	Repositories []string
	// SpecVersion is the version of Spec that targets share.
	SpecVersion int64
	// Plan says how a changed template rolls out; nil is everywhere at once.
	Plan *fanout.Plan
	// Held is the version of the template that targets keep until a rollout reaches
	// them, and HeldContext the context that it was made with; 0 is none. It stays
	// after an abort.
	Held        int64
	HeldContext string
	// Version counts the changes.
	Version    int64
	Deleting   bool
	ManagedBy  managed.Manager
	DeclaredBy string
	CreatedAt  int64
	UpdatedAt  int64
	// Namespace is the managed namespace that it belongs to; empty is none.
	Namespace string
}

// NamespaceName is the name of the global service that makes a managed namespace.
func NamespaceName(namespace string) string { return namespace + "-ns" }

// makesNamespace reports whether its targets are the namespace itself. That belongs to
// the whole cluster, so the cluster's project does not limit it.
func (g Global) makesNamespace() bool {
	return g.Namespace != "" && g.Name == NamespaceName(g.Namespace)
}

// Manager is the manager of its targets.
func (g Global) Manager() managed.Manager { return managed.Manager{Tool: managed.Hub, ID: g.ID} }

// Scope returns where it is for access. One of all projects is in the hub as a whole.
func (g Global) Scope() identity.Scope { return identity.Scope{Project: g.ProjectID} }

// Finds is the project whose repositories and contexts the template names.
func (g Global) Finds() string {
	if g.ProjectID == "" {
		return fleet.DefaultProjectID
	}
	return g.ProjectID
}

// template is the global service as hub/fleet declares services.
func (g Global) template() fleet.StoredService {
	return fleet.StoredService{
		Service: fleet.Service{ID: g.ID, Name: g.Name, ProjectID: g.Finds(), Project: cmp.Or(g.Project, fleet.DefaultProject), Spec: g.Spec, ManagedBy: g.ManagedBy},
		Secrets: g.Secrets,
	}
}

// selects reports whether a cluster runs the service. Clusters in a project of
// administrators only run no services that somebody else may write.
func (g Global) selects(c fleet.Cluster) bool {
	s := g.Selectors
	if g.ProjectID == "" && identity.ForAdministrators(c.ProjectID) {
		return false
	}
	if g.Deleting || g.ProjectID != "" && g.ProjectID != c.ProjectID || s.ignores(c) {
		return false
	}
	tags := g.tags(c)
	for key, value := range s.Tags {
		if has, ok := tags[key]; !ok || has != value {
			return false
		}
	}
	if s.Mgmt != nil && !*s.Mgmt && g.own(c) {
		return false
	}
	// The agents tell RKE2 apart, the selector does not.
	return s.Distro == "" || s.Distro == strings.ToUpper(c.Distro) || s.Distro == "RKE" && strings.HasPrefix(strings.ToUpper(c.Distro), "RKE")
}

func (s Selectors) ignores(c fleet.Cluster) bool {
	if slices.Contains(s.IgnoreClusters, c.Handle) {
		return true
	}
	for _, id := range s.Ignored {
		if id == c.ID {
			return true
		}
	}
	return false
}

// tags are the tags of a cluster that count: of clusters of all projects only those that
// an administrator stands by, since who may write one cluster must not get what is for
// others. Those of a project are all its own.
func (g Global) tags(c fleet.Cluster) map[string]string {
	if g.ProjectID == "" {
		return c.CountedTags()
	}
	return c.Tags
}

// own reports whether a cluster is the hub's own: where the operator runs that
// manages the global service, or the one with the handle that only administrators give.
func (g Global) own(c fleet.Cluster) bool {
	uid, _, _ := strings.Cut(g.ManagedBy.ID, "/")
	return c.Handle == fleet.Management || g.ManagedBy.Tool == managed.Operator && c.ClusterUID != "" && c.ClusterUID == uid
}

// Work is something to compare: a global service with all clusters, or a cluster
// with all global services.
type Work struct {
	GlobalID  string
	ClusterID string
	// Edition is another one each time that the work is asked for again.
	Edition int64
}

// Candidate is a service with the name of a global service on one cluster.
type Candidate struct {
	ID          string
	ClusterID   string
	ProjectID   string
	OwnerID     string
	ManagedBy   managed.Manager
	ParentID    string
	SourceID    string
	SpecVersion int64
	Deleting    fleet.Deletion
	// RepositoryID is that of the first source; Places are as in fleet.Service.
	RepositoryID string
	Places       []fleet.Place
}

// follows reports whether its sources are of these repositories.
func (c Candidate) follows(repositories []string) bool {
	return slices.Equal(fleet.Service{SourceID: c.SourceID, RepositoryID: c.RepositoryID, Places: c.Places}.Bound().Repositories, repositories)
}

// Target is a row of a service that shares the specs of its global service.
type Target struct {
	fleet.StoredService
	SpecVersion int64
}

// Removal is a target that leaves the hub.
type Removal struct {
	ID          string
	TombstoneID string
	Deletion    fleet.Deletion
}

// Failure is a cluster on which a target cannot be made as the template wants it.
type Failure struct {
	ClusterID string
	// Cluster is its name, filled by reads.
	Cluster string
	Message string
	At      int64
}

// State counts the targets of a global service.
type State struct {
	Targets int
	// Ready are synced and healthy, and run what is desired.
	Ready int
	// Sync and Health count by name.
	Sync   map[string]int
	Health map[string]int
	// Failing is the number of selected clusters without the wanted target, and
	// Failures are the first of them.
	Failing  int
	Failures []Failure
	// Pending is set while the last change has not reached all clusters.
	Pending bool
}

// Store stores global services. NotFound when one does not exist.
type Store interface {
	GlobalByName(ctx context.Context, name string) (Global, error)
	GlobalByID(ctx context.Context, id string) (Global, error)
	// Globals returns up to limit after a name, in order of name, without
	// templates; a reach leaves out what the caller may not see.
	Globals(ctx context.Context, after string, limit int, reach *identity.Reach) ([]Global, error)
	// PutGlobal writes one with its template, and returns the template's version.
	PutGlobal(ctx context.Context, g Global) (specVersion int64, err error)
	// ForgetGlobal deletes one that has no targets left, with all that belongs to
	// it, and reports whether it had none.
	ForgetGlobal(ctx context.Context, id string) (bool, error)
}

// BindingStore stores what templates are bound to; PutGlobal does so for a changed one.
type BindingStore interface {
	// Unbound returns the ids of the global services that have a template without
	// bindings, of before they were kept.
	Unbound(ctx context.Context) ([]string, error)
	// Strays reports whether a target follows a repository that its template is not
	// bound to.
	Strays(ctx context.Context, globalID string) (bool, error)
	// PutBindings stores the bindings of a version of a template.
	PutBindings(ctx context.Context, id string, version int64, repositories []string) error
	// First returns the id of the first target of a global service that got content,
	// otherwise of the first one; empty when it has none.
	First(ctx context.Context, id string) (string, error)
}

// WorkStore stores what has to be compared.
type WorkStore interface {
	// PendingWork returns up to limit rows, one of each project after the other.
	PendingWork(ctx context.Context, limit int) ([]Work, error)
	AddWork(ctx context.Context, w Work) error
	// WorkDone removes the work, if nobody asked for it again.
	WorkDone(ctx context.Context, w Work) error
}

// TargetStore stores the targets.
type TargetStore interface {
	// Candidates returns the services of a name on clusters.
	Candidates(ctx context.Context, name string, clusterIDs []string) ([]Candidate, error)
	InsertTargets(ctx context.Context, all []Target) error
	// UpdateTargets writes what a template's change changes, for targets of one
	// global service; all get the first one's version and time.
	UpdateTargets(ctx context.Context, all []Target) error
	// OwnSpecs gives services copies of the specs and revisions that they share.
	OwnSpecs(ctx context.Context, ids []string) error
	// ReleaseTargets ends the management of services, and marks those of removals.
	ReleaseTargets(ctx context.Context, ids []string, removals []Removal, at int64) error
}

// Uncounted is a cluster that is not selected only because of who set its tags.
type Uncounted struct {
	Cluster string
	Tags    []string
}

// StateStore reads and stores how the targets are.
type StateStore interface {
	// ClustersAfter returns up to limit clusters after an id, in order of id.
	ClustersAfter(ctx context.Context, after string, limit int) ([]fleet.Cluster, error)
	// UncountedAfter is ClustersAfter with only those that may have tags that do not count.
	UncountedAfter(ctx context.Context, after string, limit int) ([]fleet.Cluster, error)
	// MadeOn returns the ids of the global services with a target on a cluster.
	MadeOn(ctx context.Context, clusterID string) ([]string, error)
	// TargetState fills in everything but the failures.
	TargetState(ctx context.Context, id string) (State, error)
	// SetFailures replaces those of some clusters.
	SetFailures(ctx context.Context, id string, clusterIDs []string, all []Failure) error
	Failures(ctx context.Context, id string, limit int) ([]Failure, error)
}
