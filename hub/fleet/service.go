package fleet

// Ref names a service for people: by cluster and name.
type Ref struct {
	Cluster string
	Name    string
}

// String is "cluster/name".
func (r Ref) String() string { return r.Cluster + "/" + r.Name }

// Deletion says how a service leaves its cluster; empty is not at all.
type Deletion string

// The ways to leave.
const (
	Drain  Deletion = "drain"
	Detach Deletion = "detach"
)

// Service is one deployment on one cluster.
type Service struct {
	ID        string
	ClusterID string
	// Cluster is the cluster's name, filled by reads.
	Cluster   string
	Name      string
	Namespace string
	ProjectID string
	// Project is the project's name, filled by reads.
	Project string
	// Spec has its secrets' keys with empty values.
	Spec Spec
	// SourceID names the source that is followed; RepositoryID is whose.
	SourceID     string
	RepositoryID string
	// Revision counts the service's own revisions; 0 while the source was
	// never produced. It grows with every revision.
	Revision int64
	// Desired is the content of that revision.
	Desired Content
	// SpecDigest is "s1:…" over the spec, the secrets, the entry and the
	// cluster's data.
	SpecDigest string
	Paused     bool
	// PinnedRevision is the revision that a rollback went back to; 0 follows
	// heads.
	PinnedRevision int64
	// Undelivered says that what is declared waits for its source: the cluster
	// keeps the present revision until the source was produced.
	Undelivered   bool
	Deleting      Deletion
	TombstoneID   string
	SyncRequest   int64
	PruneApproval int64
	ParentID      string
	// RevisedAt is when the present revision was made.
	RevisedAt int64
	CreatedAt int64
	UpdatedAt int64
}

// Ref returns the service's name for people.
func (s Service) Ref() Ref { return Ref{s.Cluster, s.Name} }

// Content is what one revision of upstream is.
type Content struct {
	// RepositoryID is where it came from.
	RepositoryID string
	// SourceRevision is upstream's name: a commit.
	SourceRevision string
	// Digest is "axle1:…", empty while nothing was produced.
	Digest string
	// Entry is where rendering starts inside the tarball.
	Entry string
	// Size is the stored tarball's, 0 when unknown.
	Size        int64
	Message     string
	Author      string
	CommittedAt int64
}

// Cause says what made a revision.
type Cause string

// The causes.
const (
	CauseCreate   Cause = "create"
	CauseUpdate   Cause = "update"
	CauseCommit   Cause = "commit"
	CauseRollback Cause = "rollback"
)

// Revision is one state of a service that can be gone back to.
type Revision struct {
	ServiceID string
	// Number counts from 1 within the service.
	Number int64
	Content
	SpecDigest string
	Cause      Cause
	By         string
	CreatedAt  int64
	// Current is filled by reads.
	Current bool
	// Spec is as it was, its secrets' values gone from here.
	Spec Spec
}

// ServiceRequest creates or applies a service.
type ServiceRequest struct {
	Ref  Ref
	Spec Spec
	// Project is a name; empty is the cluster's project.
	Project  string
	ParentID string
	// DryRun checks everything and stores nothing.
	DryRun bool
}

// Outcome says what ApplyService did.
type Outcome string

// The outcomes.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
)

// ServiceFilter selects services; empty fields select all.
type ServiceFilter struct {
	// Cluster and Project are names.
	Cluster string
	Project string
	Name    string
	// PageSize defaults to 100, at most 500.
	PageSize  int
	PageToken string
}

// ServicePage is one page of services in order of cluster and name.
type ServicePage struct {
	Services      []ServiceView
	NextPageToken string
}

// ServiceView is a service with what is known of it now.
type ServiceView struct {
	Service
	// Status is the last report, zero when there was none.
	Status     Status
	ReportedAt int64
	// Sync and Reason are the effective ones: Pending when the agent has not
	// taken what is desired, whatever it last said.
	Sync      Sync
	Reason    string
	Message   string
	Freshness Freshness
	PolledAt  int64
	// SourceError is why the source as it is now cannot be produced.
	SourceError   string
	SourceErrorAt int64
	// NotActing are paths of fields that are kept but do nothing yet.
	NotActing []string
}
