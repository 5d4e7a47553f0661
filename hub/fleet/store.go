package fleet

import (
	"context"

	"github.com/axle-cd/axle/hub/fleet/reported"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
)

// Store stores the fleet, by subject. Methods that change something run in the
// transaction of the context; reads do so where there is one. They return NotFound
// when a requested row does not exist, and Conflict when a name is taken.
type Store struct {
	Snapshots
	ProjectReader
	QuotaStore
	ProjectStore
	WindowStore
	ReachReader
	ClusterReader
	ClusterStore
	ClusterLister
	MemoryStore
	ServiceReader
	ServiceStore
	ServiceLister
	UseReader
	RevisionStore
	StatusReader
	StatusStore
	HealStore
	TestRunStore
	DiffStore
}

// Snapshots runs reads that belong together.
type Snapshots interface {
	// Read gives fn a context in which all reads see one snapshot.
	Read(ctx context.Context, fn func(ctx context.Context) error) error
}

// ProjectStore changes projects.
type ProjectStore interface {
	InsertProject(ctx context.Context, p Project) error
	// UpdateProject writes the description and the limits.
	UpdateProject(ctx context.Context, p Project) error
	DeleteProject(ctx context.Context, id string) error
	// ProjectsSettled records, in the transaction of the context, that every
	// service has the limits of its project. A project that changes meanwhile
	// makes the transaction retry.
	ProjectsSettled(ctx context.Context) error
}

// ProjectReader reads projects.
type ProjectReader interface {
	// ProjectByName fills in the counts when counted is set, which costs in
	// proportion to the project.
	ProjectByName(ctx context.Context, name string, counted bool) (Project, error)
	// Projects returns all projects in order of name, with counts.
	Projects(ctx context.Context) ([]Project, error)
	// ProjectsByID returns those of the ids that exist, without counts.
	ProjectsByID(ctx context.Context, ids []string) ([]Project, error)
	// NamespacesOfProject returns the namespaces of its services, each with one
	// of the services, without the hub's own.
	NamespacesOfProject(ctx context.Context, projectID string) (map[string]Ref, error)
}

// WindowStore stores the sync windows of the hub as a whole.
type WindowStore interface {
	HubWindows(ctx context.Context) ([]SyncWindow, managed.Manager, error)
	SetHubWindows(ctx context.Context, windows []SyncWindow, by managed.Manager) error
}

// ClusterStore changes clusters.
type ClusterStore interface {
	InsertCluster(ctx context.Context, c Cluster) error
	// UpdateCluster writes every column of a cluster.
	UpdateCluster(ctx context.Context, c Cluster) error
	DeleteCluster(ctx context.Context, id string) error
	// TouchCluster sets when the agent last pinged.
	TouchCluster(ctx context.Context, id string, at int64) error
}

// ClusterReader reads single clusters.
type ClusterReader interface {
	ClusterByID(ctx context.Context, id string) (Cluster, error)
	ClusterByName(ctx context.Context, name string) (Cluster, error)
	ClusterByHandle(ctx context.Context, handle string) (Cluster, error)
	// ClustersByID returns those of the ids that exist.
	ClustersByID(ctx context.Context, ids []string) ([]Cluster, error)
}

// ClusterLister reads all clusters.
type ClusterLister interface {
	// Clusters returns all, or a project's (by id), in order of name.
	Clusters(ctx context.Context, projectID string) ([]Cluster, error)
	// ClustersMadeOn returns those that were made on a management cluster from templates, in
	// order of name.
	ClustersMadeOn(ctx context.Context, managementID string) ([]Cluster, error)
	// DestroyingClusters returns those whose machines are being removed.
	DestroyingClusters(ctx context.Context) ([]Cluster, error)
	// ClusterTallies counts services by cluster id, for one cluster or, when
	// the id is empty, for all.
	ClusterTallies(ctx context.Context, clusterID string) (map[string]Tally, error)
	// EachClusterRow streams all clusters.
	EachClusterRow(ctx context.Context, fn func(ClusterRow) error) error
}

// Tally counts the services of a cluster.
type Tally struct {
	Services int
	// Healthy are Synced and Healthy, and run what is desired.
	Healthy int
	// Failed have sync Failed or health Degraded.
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
	// ServicesOfCluster returns a cluster's services, including those being
	// deleted; with tombstones, only the services that these belong to.
	ServicesOfCluster(ctx context.Context, clusterID string, tombstones []string) ([]StoredService, error)
}

// ServiceLister reads services of many clusters, without their secrets.
type ServiceLister interface {
	// ListServices returns a page after (cluster name, service name).
	ListServices(ctx context.Context, f ServiceFilter, after Ref, limit int) ([]Service, error)
	// ServicesNamed returns the services of that name on clusters; nil ids
	// means all.
	ServicesNamed(ctx context.Context, name string, clusterIDs []string) ([]Service, error)
	// EachRow streams all services.
	EachRow(ctx context.Context, fn func(Row) error) error
	// RowsByID returns those of the ids that exist.
	RowsByID(ctx context.Context, ids []string) ([]Row, error)
}

// UseReader reads what services use.
type UseReader interface {
	// Uses returns the objects of the hub that are not deleted as long as a service
	// exists, each with its manager: its repositories, its project, its contexts and
	// the outputs that it imports. Those that nobody declares may be left out.
	Uses(ctx context.Context, serviceID string) ([]Used, error)
}

// Used is an object of the hub that a service uses.
type Used struct {
	// Noun is what people call it: "repository fleet".
	Noun      string
	ManagedBy managed.Manager
}

// StoredRevision is a revision with its sealed secrets.
type StoredRevision struct {
	Revision
	Secrets string
	// OwnerID is that of the service.
	OwnerID string
}

// RevisionStore stores revisions.
type RevisionStore interface {
	// InsertRevision adds a revision and removes all but the newest keep of the
	// service. It returns its number, which differs from the given one where the
	// service shares the revisions of a global service.
	InsertRevision(ctx context.Context, r StoredRevision, keep int) (number int64, err error)
	// Revision returns one revision, or NotFound.
	Revision(ctx context.Context, serviceID string, number int64) (StoredRevision, error)
	// PresentRevisions returns the current revisions of services, by service id.
	PresentRevisions(ctx context.Context, serviceIDs []string) (map[string]StoredRevision, error)
	// Revisions returns all kept revisions, newest first.
	Revisions(ctx context.Context, serviceID string) ([]Revision, error)
}

// Made is the content of a revision, with the parts where Service.Parts would
// list them.
type Made struct {
	Content Content `json:"content"`
	Parts   []Part  `json:"parts,omitempty"`
}

// Revised is the next revision of one service.
type Revised struct {
	ServiceID string
	// OwnerID is that of the service.
	OwnerID    string
	SpecDigest string
	Namespace  string
	Cause      Cause
	Made
}

// MoveStore gives many services revisions in few statements. No statement is
// about one service, and none writes more per service than a narrow row.
type MoveStore interface {
	// ServicesToAdvance returns up to limit services after an id, in order of
	// id, for which only the content changes: one of the sources is their only
	// one, at their root; their current revision has the head's entry and other
	// content; and they are neither pinned, deleting nor undelivered, nor depend on
	// services of other clusters. It fills
	// in the ids, the names, the source, the spec digest and the revision.
	ServicesToAdvance(ctx context.Context, heads []Head, after string, limit int) ([]Service, error)
	// ServicesBehind returns up to limit services after an id, in order of id,
	// that follow one of the sources, are neither pinned nor deleting, and
	// whose content may differ from the heads: of the services with one source,
	// those whose content is not the head's or that are undelivered; of those
	// with several, all.
	ServicesBehind(ctx context.Context, heads []Head, after string, limit int) ([]StoredService, error)
	// Revise creates the next revision of each service and keeps that many of
	// each. The author is whoever last declared the service, or nobody when the
	// cause is a commit.
	Revise(ctx context.Context, all []Revised, at int64, keep int) error
	// ServicesToLimit returns up to limit services after an id, in order of id,
	// whose project changed since ProjectsSettled and whose limits are not what
	// their project delivers; never the hub's own.
	ServicesToLimit(ctx context.Context, after string, limit int) ([]StoredService, error)
	// Settle writes what is derived from the limits and other inputs beside the
	// services' own declarations.
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

// kept returns the part of a status that is cached in memory.
func (s StoredStatus) kept() reported.Status {
	return reported.StatusOf(s.Hash, reported.State{Sync: string(s.Sync), Health: string(s.Health)})
}

// StatusStore changes what agents report.
type StatusStore interface {
	// PutStatuses stores statuses of a cluster, and the cluster's new sum.
	PutStatuses(ctx context.Context, clusterID string, all []StoredStatus, sum reported.Sum) error
	DeleteStatuses(ctx context.Context, serviceIDs []string) error
	// StatusHashes returns the stored statuses of a cluster, by service id.
	StatusHashes(ctx context.Context, clusterID string) (map[string]reported.Status, error)
}

// StatusReader reads what agents reported.
type StatusReader interface {
	// StatusesByID returns the statuses that exist, by service id, without
	// components.
	StatusesByID(ctx context.Context, serviceIDs []string) (map[string]StoredStatus, error)
	// Orphans returns, in order of cluster and id, what agents report of services that they
	// hold because no list has them, and that have no row; of all clusters within reach, or
	// of one.
	Orphans(ctx context.Context, clusterID string, reach identity.Reach, limit int) ([]Orphan, error)
	// Components returns the compressed list of a service, nil when none.
	Components(ctx context.Context, serviceID string) ([]byte, error)
}
