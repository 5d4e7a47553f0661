package fleet

import (
	"cmp"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
)

// Ref names a service by cluster and name.
type Ref struct {
	Cluster string
	Name    string
}

// String is "cluster/name".
func (r Ref) String() string { return r.Cluster + "/" + r.Name }

// Deletion says how a service is removed from its cluster; empty when it is not
// being deleted.
type Deletion string

// The ways to delete a service: Drain waits for services that may take objects
// over.
const (
	Drain         Deletion = "drain"
	DrainReleased Deletion = "drain-released"
	Detach        Deletion = "detach"
)

// Service is one service on one cluster.
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
	// Limits are the project's limits as they were sent to the cluster. They
	// follow the project within moments, and always together with SpecDigest.
	Limits Limits
	// Spec has the keys of its secrets, with empty values.
	Spec Spec
	// SourceID is the followed source, of several the first; RepositoryID is
	// its repository.
	SourceID     string
	RepositoryID string
	// Places are the sources of a service that has several, or whose one source
	// lies under a path; nil otherwise. See Follows.
	Places []Place
	// Revision counts the service's own revisions; 0 while the source never had
	// content. It grows with every revision.
	Revision int64
	// Desired is the content of that revision; of several parts, the first.
	Desired Content
	// Parts are the contents of that revision where Places would list more
	// than one source at the root; nil otherwise.
	Parts []Part
	// SpecDigest is "s1:…" over the spec, the secrets, the entry and the
	// cluster's data.
	SpecDigest string
	Paused     bool
	// PinnedRevision is the revision that a rollback pinned; 0 follows heads.
	PinnedRevision int64
	// Undelivered is set while the declared spec waits for its source: the
	// cluster keeps the current revision until the source has content.
	Undelivered bool
	Deleting    Deletion
	TombstoneID string
	SyncRequest int64
	// SyncResources are the objects of the last sync request; nil is all.
	SyncResources []string
	DiffRequest   int64
	PruneApproval int64
	ParentID      string
	// DeclaredBy is who last declared it.
	DeclaredBy string
	ManagedBy  managed.Manager
	// OwnerID is the global service whose specs and revisions it shares; empty is
	// its own.
	OwnerID string
	// RevisedAt is when the current revision was created.
	RevisedAt int64
	CreatedAt int64
	UpdatedAt int64
}

// Ref returns the service's name for people.
func (s Service) Ref() Ref { return Ref{s.Cluster, s.Name} }

// Owner returns the id whose specs and revisions the service has.
func (s Service) Owner() string { return cmp.Or(s.OwnerID, s.ID) }

// Content is one upstream revision.
type Content struct {
	// RepositoryID is the repository it came from.
	RepositoryID string `json:"repository,omitempty"`
	// SourceRevision is upstream's name for it: a commit, a chart's version.
	SourceRevision string `json:"revision,omitempty"`
	// Digest is "axle1:…", empty while there is no content.
	Digest string `json:"digest,omitempty"`
	// Entry is where rendering starts inside the tarball.
	Entry string `json:"entry,omitempty"`
	// Size is the size of the stored tarball, 0 when unknown.
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
	// CauseConfiguration means that values from elsewhere changed: a context,
	// an import, a secret in a backend.
	CauseConfiguration Cause = "configuration"
)

// Revision is one state of a service that a rollback can return to.
type Revision struct {
	ServiceID string
	// Number counts from 1 within the service.
	Number int64
	Content
	// Parts are as in Service.
	Parts      []Part
	SpecDigest string
	Cause      Cause
	// By is who made it; for a commit, its author. Reason is why, if they said so.
	By, Reason string
	CreatedAt  int64
	// Current is filled by reads.
	Current bool
	// Spec is the spec at that time, without the values of secrets.
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
	// ours is set for a service that the hub itself declares; see ApplyOurs.
	ours bool
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
	// ManagedBy is a tool, or managed.Nobody.
	ManagedBy string
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

// ServiceView is a service with its current state.
type ServiceView struct {
	Service
	// Status is the last report, zero when there was none.
	Status     Status
	ReportedAt int64
	// Sync and Reason are the effective ones: Pending while the agent has not
	// applied what is desired, whatever it last reported.
	Sync      Sync
	Reason    string
	Message   string
	Freshness Freshness
	PolledAt  int64
	// Sources are the service's sources, in order.
	Sources []SourceView
	// SourceError says why a source in its current state cannot be used; of
	// several, the first.
	SourceError   string
	SourceErrorAt int64
	// NotActing are paths of fields that are stored but have no effect yet.
	NotActing []string
}

// SourceView is one source of a service with its current state.
type SourceView struct {
	// Field is its name in the spec: "git", "sources[0]", "helm".
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
	// Delivered is its content in the current revision.
	Delivered Content
	// FetchedAt is when its current head was fetched.
	FetchedAt int64
	// Error says why its current state cannot be used, with the time since when.
	// It is the error of the source or, when that has none, of its repository.
	Error   string
	ErrorAt int64
}
