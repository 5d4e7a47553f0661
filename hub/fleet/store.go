package fleet

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet/reported"
)

// Store keeps the fleet. Methods that change run in the transaction of the
// context; reads do where there is one. NotFound where one thing is asked for
// and is not there, Conflict where a name is taken.
type Store interface {
	// Read gives fn a context in which all reads see one moment.
	Read(ctx context.Context, fn func(ctx context.Context) error) error

	ProjectStore
	ClusterStore
	LivenessStore
	ServiceStore
	ServiceReader
	RevisionStore
	StatusStore
	HealStore
	TestRunStore
	DiffStore
	ReachReader
}

// ProjectStore keeps projects.
type ProjectStore interface {
	InsertProject(ctx context.Context, p Project) error
	// UpdateProject writes the description and the limits.
	UpdateProject(ctx context.Context, p Project) error
	DeleteProject(ctx context.Context, id string) error
	// ProjectByName fills the counts when counted says so, which costs what
	// the project has.
	ProjectByName(ctx context.Context, name string, counted bool) (Project, error)
	// Projects returns all in order of name, with counts.
	Projects(ctx context.Context) ([]Project, error)
	// ProjectsByID returns those of the ids that exist, without counts.
	ProjectsByID(ctx context.Context, ids []string) ([]Project, error)
	LimitStore
}

// LimitStore keeps what limits services beside their own specs.
type LimitStore interface {
	// HubWindows are the sync windows of the hub as a whole.
	HubWindows(ctx context.Context) ([]SyncWindow, error)
	SetHubWindows(ctx context.Context, windows []SyncWindow) error
	// NamespacesOfProject returns where its services are, each with one of
	// them, but the hub's own.
	NamespacesOfProject(ctx context.Context, projectID string) (map[string]Ref, error)
	// ProjectsSettled notes, in the transaction of the context, that every
	// service has what its project delivers. A project that changes meanwhile
	// makes the transaction run again.
	ProjectsSettled(ctx context.Context) error
}

// ClusterStore keeps clusters.
type ClusterStore interface {
	InsertCluster(ctx context.Context, c Cluster) error
	// UpdateCluster writes every column of a cluster.
	UpdateCluster(ctx context.Context, c Cluster) error
	DeleteCluster(ctx context.Context, id string) error
	ClusterByID(ctx context.Context, id string) (Cluster, error)
	ClusterByName(ctx context.Context, name string) (Cluster, error)
	ClusterByHandle(ctx context.Context, handle string) (Cluster, error)
	// Clusters returns all, or a project's (by id), in order of name.
	Clusters(ctx context.Context, projectID string) ([]Cluster, error)
	// ClusterTallies counts services by cluster id, of one cluster or, when
	// the id is empty, of all.
	ClusterTallies(ctx context.Context, clusterID string) (map[string]Tally, error)
	// ClustersByID returns those of the ids that exist.
	ClustersByID(ctx context.Context, ids []string) ([]Cluster, error)
	// TouchCluster sets when the agent last pinged.
	TouchCluster(ctx context.Context, id string, at int64) error
	// EachClusterRow streams all clusters.
	EachClusterRow(ctx context.Context, fn func(ClusterRow) error) error
}

// LivenessStore knows which clusters should poll.
type LivenessStore interface {
	// PollIntervals returns those of registered clusters, of all when ids is
	// nil; 0 is one whose agent has not told it yet.
	PollIntervals(ctx context.Context, ids []string) (map[string]int64, error)
}

// Tally counts the services of a cluster.
type Tally struct {
	Services int
	// Healthy are Synced, Healthy and at what is desired.
	Healthy int
	// Failed are sync Failed or health Degraded.
	Failed int
}

// StoredService is a service with its sealed secrets.
type StoredService struct {
	Service
	// Secrets is a sealed JSON object, empty when there are none.
	Secrets string
}

// ServiceStore changes services.
type ServiceStore interface {
	InsertService(ctx context.Context, s StoredService) error
	// UpdateService writes every column but the creation time.
	UpdateService(ctx context.Context, s StoredService) error
	// DeleteService removes the row, its revisions and its status.
	DeleteService(ctx context.Context, id string) error
}

// ServiceReader reads services.
type ServiceReader interface {
	ServiceByID(ctx context.Context, id string) (StoredService, error)
	ServiceByRef(ctx context.Context, ref Ref) (StoredService, error)
	// ServicesByID returns those of the ids that exist, in order of id.
	ServicesByID(ctx context.Context, ids []string) ([]StoredService, error)
	// ServicesOfCluster returns a cluster's services, deleting ones too; with
	// tombstones only those that have one of them.
	ServicesOfCluster(ctx context.Context, clusterID string, tombstones []string) ([]StoredService, error)
	// ListServices returns a page after (cluster name, service name).
	ListServices(ctx context.Context, f ServiceFilter, after Ref, limit int) ([]Service, error)
	// ServicesNamed returns the services of that name on clusters; nil ids are
	// all.
	ServicesNamed(ctx context.Context, name string, clusterIDs []string) ([]Service, error)
	// EachRow streams all services.
	EachRow(ctx context.Context, fn func(Row) error) error
	// RowsByID returns those of the ids that exist.
	RowsByID(ctx context.Context, ids []string) ([]Row, error)
}

// StoredRevision is a revision with its sealed secrets.
type StoredRevision struct {
	Revision
	Secrets string
}

// RevisionStore keeps revisions.
type RevisionStore interface {
	// InsertRevision removes all but the newest keep of the service's.
	InsertRevision(ctx context.Context, r StoredRevision, keep int) error
	// Revision returns one, or NotFound.
	Revision(ctx context.Context, serviceID string, number int64) (StoredRevision, error)
	// PresentRevisions returns the present revisions of services, by service
	// id.
	PresentRevisions(ctx context.Context, serviceIDs []string) (map[string]StoredRevision, error)
	// Revisions returns all that are kept, newest first.
	Revisions(ctx context.Context, serviceID string) ([]Revision, error)
}

// Made is what a revision is made of: its content, and the parts where
// Service.Parts would list them.
type Made struct {
	Content Content `json:"content"`
	Parts   []Part  `json:"parts,omitempty"`
}

// Revised is the next revision of one service.
type Revised struct {
	ServiceID  string
	SpecDigest string
	Namespace  string
	Cause      Cause
	Made
}

// MoveStore gives many services revisions in few statements. No statement is of
// one service, and none writes more of one than a narrow row.
type MoveStore interface {
	// ServicesToAdvance returns up to limit services after an id, in order of
	// id, for which nothing but their content changes: they have one of the
	// sources alone, at their root, a present revision with the head's entry
	// and other content, and are neither pinned, deleting nor undelivered. Of
	// each it fills the ids, the names, the source, the spec digest and the
	// revision.
	ServicesToAdvance(ctx context.Context, heads []Head, after string, limit int) ([]Service, error)
	// ServicesBehind returns up to limit services after an id, in order of id,
	// that follow one of the sources, are neither pinned nor deleting, and
	// whose content may not be what the heads say: of those with one source,
	// those whose content is not the head's or who are undelivered; of those
	// with several, all.
	ServicesBehind(ctx context.Context, heads []Head, after string, limit int) ([]StoredService, error)
	// Revise makes the next revision of each, by whoever declared it last or,
	// when the cause is a commit, by nobody, and keeps that many of each.
	Revise(ctx context.Context, all []Revised, at int64, keep int) error
	// ServicesToLimit returns up to limit services after an id, in order of
	// id, of projects that were changed since ProjectsSettled, whose limits are
	// not what their project delivers; never the hub's own.
	ServicesToLimit(ctx context.Context, after string, limit int) ([]StoredService, error)
	// Settle writes what follows from what services are given beside their own
	// declarations.
	Settle(ctx context.Context, all []StoredService) error
}

// StoredStatus is the last report of a service.
type StoredStatus struct {
	ServiceID  string
	ClusterID  string
	Hash       string
	ReportedAt int64
	Status
}

// kept is what is kept of a status in memory.
func (s StoredStatus) kept() reported.Status {
	return reported.StatusOf(s.Hash, reported.State{Sync: string(s.Sync), Health: string(s.Health)})
}

// StatusStore keeps what agents report.
type StatusStore interface {
	// PutStatuses stores statuses of a cluster, and what is stored of it then.
	PutStatuses(ctx context.Context, clusterID string, all []StoredStatus, sum reported.Sum) error
	DeleteStatuses(ctx context.Context, serviceIDs []string) error
	// StatusesByID returns those that exist, by service id, without
	// components.
	StatusesByID(ctx context.Context, serviceIDs []string) (map[string]StoredStatus, error)
	// Components returns the compressed list of a service, nil when none.
	Components(ctx context.Context, serviceID string) ([]byte, error)
	// StatusHashes returns what is stored for a cluster, by service id.
	StatusHashes(ctx context.Context, clusterID string) (map[string]reported.Status, error)
	// StatusSums returns what is stored of clusters, of all when ids is nil.
	StatusSums(ctx context.Context, clusterIDs []string) (map[string]reported.Sum, error)
}
