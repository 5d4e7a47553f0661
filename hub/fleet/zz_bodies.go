package fleet

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/errcode"
)

var errLater = errcode.New(errcode.Internal, "not built yet")

type liveness struct{}
type statusHashes struct{}

func (f *Fleet) start() {}

// Rebuild loads the hashes of all statuses; see event.Subscriber.
func (f *Fleet) Rebuild(ctx context.Context) error { return errLater }

// Apply reads the hashes of changed clusters again; see event.Subscriber.
func (f *Fleet) Apply(ctx context.Context, rows []event.Row) error { return errLater }

// CreateProject makes a project. Conflict when the name is taken.
func (f *Fleet) CreateProject(ctx context.Context, by, name, description string) (Project, error) {
	return Project{}, errLater
}

// Project returns a project by name; empty is the default one. NotFound.
func (f *Fleet) Project(ctx context.Context, name string) (Project, error) { return Project{}, errLater }

// Projects returns all projects in order of name.
func (f *Fleet) Projects(ctx context.Context) ([]Project, error) { return nil, errLater }

// DeleteProject removes an empty project. Conflict when it is not empty.
func (f *Fleet) DeleteProject(ctx context.Context, by, name string) error { return errLater }

// CreateCluster makes a cluster ahead of its agent. Conflict when it exists.
func (f *Fleet) CreateCluster(ctx context.Context, by string, n NewCluster) (Cluster, error) {
	return Cluster{}, errLater
}

// UpdateCluster changes a cluster, and the spec digests of its services when
// their data changed.
func (f *Fleet) UpdateCluster(ctx context.Context, by, name string, c ClusterChange) (Cluster, error) {
	return Cluster{}, errLater
}

// ApproveCluster ends Pending.
func (f *Fleet) ApproveCluster(ctx context.Context, by, name string) (Cluster, error) {
	return Cluster{}, errLater
}

// DeleteCluster forgets a cluster. Conflict when services are on it, unless
// detach says to forget them too, leaving their objects. The caller revokes
// its credentials first (identity.RevokeCluster).
func (f *Fleet) DeleteCluster(ctx context.Context, by, name string, detach bool) error {
	return errLater
}

// Cluster returns a cluster by name. NotFound.
func (f *Fleet) Cluster(ctx context.Context, name string) (ClusterView, error) {
	return ClusterView{}, errLater
}

// ClusterByID returns a cluster by id. NotFound.
func (f *Fleet) ClusterByID(ctx context.Context, id string) (ClusterView, error) {
	return ClusterView{}, errLater
}

// Clusters returns clusters in order of name.
func (f *Fleet) Clusters(ctx context.Context, filter ClusterFilter) ([]ClusterView, error) {
	return nil, errLater
}

// Ping stores what an agent knows of its cluster, and the spec digests of its
// services when their data changed.
func (f *Fleet) Ping(ctx context.Context, clusterID string, p ClusterPing) error { return errLater }

// Enroll is identity.Clusters.
func (f *Fleet) Enroll(ctx context.Context, e identity.Enrollment) (identity.Enrolled, error) {
	return identity.Enrolled{}, errLater
}

// SetIdentityProblem is identity.Clusters.
func (f *Fleet) SetIdentityProblem(ctx context.Context, clusterID, problem string) error {
	return errLater
}

// Seen notes an authenticated poll of a cluster's agent, in memory alone.
func (f *Fleet) Seen(clusterID string, at time.Time) {}

// Freshness returns how old the last poll of a cluster is and when it was.
func (f *Fleet) Freshness(clusterID string) (Freshness, int64) { return Unknown, 0 }

// CreateService declares a service. Invalid with the field's path, NotFound
// (cluster, repository), Conflict when it exists.
func (f *Fleet) CreateService(ctx context.Context, by string, r ServiceRequest) (ServiceView, error) {
	return ServiceView{}, errLater
}

// UpdateService replaces a service's spec, or only the fields named by JSON
// paths ("git.ref").
func (f *Fleet) UpdateService(ctx context.Context, by string, ref Ref, spec Spec, fields []string, dryRun bool) (ServiceView, error) {
	return ServiceView{}, errLater
}

// ApplyService creates or updates a service by its name.
func (f *Fleet) ApplyService(ctx context.Context, by string, r ServiceRequest) (ServiceView, Outcome, error) {
	return ServiceView{}, "", errLater
}

// SyncService asks the agent for a pass now.
func (f *Fleet) SyncService(ctx context.Context, by string, ref Ref) (ServiceView, error) {
	return ServiceView{}, errLater
}

// PauseService stops everything on the service until it is resumed.
func (f *Fleet) PauseService(ctx context.Context, by string, ref Ref) (ServiceView, error) {
	return ServiceView{}, errLater
}

// ResumeService ends a pause and a pin; the service takes its head again.
func (f *Fleet) ResumeService(ctx context.Context, by string, ref Ref) (ServiceView, error) {
	return ServiceView{}, errLater
}

// RollbackService goes back to a revision and pins the service to it; 0 is
// the one before the present.
func (f *Fleet) RollbackService(ctx context.Context, by string, ref Ref, number int64) (ServiceView, error) {
	return ServiceView{}, errLater
}

// Revisions returns those that are kept, newest first.
func (f *Fleet) Revisions(ctx context.Context, ref Ref) ([]Revision, error) { return nil, errLater }

// ApprovePrune releases a held prune once.
func (f *Fleet) ApprovePrune(ctx context.Context, by string, ref Ref) (ServiceView, error) {
	return ServiceView{}, errLater
}

// DeleteService makes the service a tombstone, or removes it at once when no
// agent ever registered for its cluster. Conflict when it is protected.
func (f *Fleet) DeleteService(ctx context.Context, by string, ref Ref, detach bool) (ServiceView, error) {
	return ServiceView{}, errLater
}

// Service returns a service with its components.
func (f *Fleet) Service(ctx context.Context, ref Ref) (ServiceView, error) {
	return ServiceView{}, errLater
}

// ServiceByID is Service by id.
func (f *Fleet) ServiceByID(ctx context.Context, id string) (ServiceView, error) {
	return ServiceView{}, errLater
}

// Services returns a page of services, without components.
func (f *Fleet) Services(ctx context.Context, filter ServiceFilter) (ServicePage, error) {
	return ServicePage{}, errLater
}

// HeadMoved gives every service that follows the source a revision with the
// head's content. Pinned services and those that have it already are not
// touched.
func (f *Fleet) HeadMoved(ctx context.Context, h Head) error { return errLater }

// ReconcileHeads does HeadMoved for every source that services follow, and so
// repairs what a killed process left; called at start and now and then by the
// lease's holder.
func (f *Fleet) ReconcileHeads(ctx context.Context) error { return errLater }

// StoreReports stores an agent's statuses and ends drained tombstones. When it
// returns, they are committed.
func (f *Fleet) StoreReports(ctx context.Context, b ReportBatch) (ReportResult, error) {
	return ReportResult{}, errLater
}

// StatusHash returns the hash over a cluster's stored statuses: hex SHA-256
// over "<service id> <hash>\n" in order of id, first 16 digits. From memory.
func (f *Fleet) StatusHash(clusterID string) string { return "" }

// LoadAll streams every service; hub/desired builds its index from it.
func (f *Fleet) LoadAll(ctx context.Context, fn func(Row) error) error { return errLater }

// LoadRows returns those of the services that exist.
func (f *Fleet) LoadRows(ctx context.Context, ids []string) ([]Row, error) { return nil, errLater }

// LoadClusters streams every cluster.
func (f *Fleet) LoadClusters(ctx context.Context, fn func(ClusterRow) error) error { return errLater }

// LoadCluster returns one cluster's row. NotFound.
func (f *Fleet) LoadCluster(ctx context.Context, id string) (ClusterRow, error) {
	return ClusterRow{}, errLater
}

// AgentSpecs returns the specs of a cluster's services with secrets opened,
// and the ids that are not (or no longer) the cluster's.
func (f *Fleet) AgentSpecs(ctx context.Context, clusterID string, ids []string) (specs []AgentSpec, missing []string, err error) {
	return nil, nil, errLater
}

// NotActing returns the paths of fields that are kept but do nothing yet.
func NotActing(spec Spec) []string { return nil }
