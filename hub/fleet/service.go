package fleet

import "github.com/axle-cd/axle/hub/identity"

// Ref names a service for people: by cluster and name.
type Ref struct {
	Cluster string
	Name    string
}

// String is "cluster/name".
func (r Ref) String() string { return r.Cluster + "/" + r.Name }

// Deletion says how a service leaves its cluster; empty is not at all.
type Deletion string

// The ways to leave: Drain waits for services that may take objects over.
const (
	Drain         Deletion = "drain"
	DrainReleased Deletion = "drain-released"
	Detach        Deletion = "detach"
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
	// Limits are what the cluster is told of the project's. They follow it
	// within moments, and never apart from SpecDigest.
	Limits Limits
	// Spec has its secrets' keys with empty values.
	Spec Spec
	// SourceID names the source that is followed, of several the first;
	// RepositoryID is whose.
	SourceID     string
	RepositoryID string
	// Places are the sources of a service that is made of several, or whose
	// one source lies under a path; nil otherwise. See Follows.
	Places []Place
	// Revision counts the service's own revisions; 0 while the source was
	// never produced. It grows with every revision.
	Revision int64
	// Desired is the content of that revision, of several parts the first.
	Desired Content
	// Parts are the contents of that revision where Places would list more
	// than one source at the root; nil otherwise.
	Parts []Part
	// SpecDigest is "s1:…" over the spec, the secrets, the entry and the
	// cluster's data.
	SpecDigest string
	Paused     bool
	// PinnedRevision is the revision that a rollback went back to; 0 follows
	// heads.
	PinnedRevision int64
	// Undelivered says that what is declared waits for its source: the cluster
	// keeps the present revision until the source was produced.
	Undelivered bool
	Deleting    Deletion
	TombstoneID string
	SyncRequest int64
	// SyncResources are what the last request was about; nil is all.
	SyncResources []string
	DiffRequest   int64
	PruneApproval int64
	ParentID      string
	// DeclaredBy is who declared it last.
	DeclaredBy string
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
	RepositoryID string `json:"repository,omitempty"`
	// SourceRevision is upstream's name: a commit, a chart's version.
	SourceRevision string `json:"revision,omitempty"`
	// Digest is "axle1:…", empty while nothing was produced.
	Digest string `json:"digest,omitempty"`
	// Entry is where rendering starts inside the tarball.
	Entry string `json:"entry,omitempty"`
	// Size is the stored tarball's, 0 when unknown.
	Size        int64  `json:"size,omitempty"`
	Message     string `json:"message,omitempty"`
	Author      string `json:"author,omitempty"`
	CommittedAt int64  `json:"committedAt,omitempty"`
}

// Cause says what made a revision.
type Cause string

// The causes.
const (
	CauseCreate   Cause = "create"
	CauseUpdate   Cause = "update"
	CauseCommit   Cause = "commit"
	CauseRollback Cause = "rollback"
	// CauseConfiguration is that values from elsewhere changed: a context, an
	// import, a secret in a backend.
	CauseConfiguration Cause = "configuration"
)

// Revision is one state of a service that can be gone back to.
type Revision struct {
	ServiceID string
	// Number counts from 1 within the service.
	Number int64
	Content
	// Parts are as in Service.
	Parts      []Part
	SpecDigest string
	Cause      Cause
	// By is who made it: of a commit its author.
	By        string
	CreatedAt int64
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
	// Reach leaves out what the caller may not see; nil leaves out nothing.
	Reach *identity.Reach
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
	// Sources are what the service is made of, in order.
	Sources []SourceView
	// SourceError is why a source as it is now cannot be produced, of several
	// the first.
	SourceError   string
	SourceErrorAt int64
	// NotActing are paths of fields that are kept but do nothing yet.
	NotActing []string
}

// SourceView is one source of a service with what is known of it now.
type SourceView struct {
	// Field names it in the spec: "git", "sources[0]", "helm".
	Field string
	Path  string
	// Repository is the repository's name, or the URL that found it; Kind is
	// git, helm, oci or bucket.
	Repository string
	Kind       string
	Ref        string
	Folder     string
	Chart      string
	Version    string
	// Delivered is what the present revision has of it.
	Delivered Content
	// FetchedAt is when what it points at now was fetched.
	FetchedAt int64
	// Error is why it cannot be produced as it is now, with the time since
	// when; of the source itself or, when that is well, of its repository.
	Error   string
	ErrorAt int64
}
