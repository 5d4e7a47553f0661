package fleet

import (
	"github.com/axle-cd/axle/hub/fleet/installed"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/managed"
)

// Cluster is a Kubernetes cluster where services run.
type Cluster struct {
	ID string
	// Name is unique in the hub, a DNS label.
	Name string
	// Handle is the short name used in URLs and templates. It is unique, is the name of
	// no other cluster, and equals the name unless set.
	Handle    string
	ProjectID string
	// Project is the project's name, filled by reads.
	Project string
	Tags    map[string]string
	// AdminTags are the tags that an administrator set, FormerTags those of before this
	// was recorded; see CountedTags.
	AdminTags, FormerTags map[string]string
	// Metadata is a JSON object, "{}" when empty.
	Metadata string
	// ManagedBy manages what is declared: handle, tags and metadata.
	ManagedBy         managed.Manager
	Distro            string
	KubernetesVersion string
	AgentVersion      string
	Nodes             int
	// ClusterUID is the uid of kube-system, empty until the agent registered.
	ClusterUID   string
	RegisteredAt int64
	// Pending is set while the cluster waits for a person's approval.
	Pending bool
	// Message says what is wrong with the cluster's identity.
	Message string
	// PollInterval is the agent's, in microseconds; 0 is unknown.
	PollInterval int64
	// Installation describes how the agent is installed; zero when the agent
	// cannot replace itself.
	Installation installed.Agent
	// Origin is zero for a cluster that somebody else made; ManagementID is the cluster that
	// holds its objects, and MadeState what that one last reported. Cleanup is nil unless it
	// is being destroyed. Replacing are its machines that are replaced, and the last that were,
	// in order of request.
	Origin       Origin
	ManagementID string
	MadeState    MadeState
	Cleanup      *Cleanup
	Replacing    []Replacement
	PingedAt     int64
	CreatedAt    int64
	UpdatedAt    int64
}

// Registered reports whether an agent has an identity for the cluster.
func (c Cluster) Registered() bool { return c.RegisteredAt != 0 }

// NewCluster describes a cluster that is created before its agent registers.
type NewCluster struct {
	Name   string
	Handle string
	// Project is a name; empty is the default project.
	Project  string
	Tags     map[string]string
	Metadata string
	// FleetWide is set when the caller may write the whole hub.
	FleetWide bool
}

// ClusterChange changes the fields that are not nil.
type ClusterChange struct {
	Handle   *string
	Tags     *map[string]string
	Metadata *string
	// FleetWide is set when the caller may write the whole hub.
	FleetWide bool
}

// ClusterFilter selects clusters; empty fields select all.
type ClusterFilter struct {
	// Project is a name.
	Project string
	Tags    map[string]string
	// Reach leaves out what the caller may not see; nil leaves out nothing.
	Reach *identity.Reach
}

// ClusterPing is what an agent reports about its cluster.
type ClusterPing struct {
	AgentVersion      string
	KubernetesVersion string
	Distro            string
	Nodes             int
	// PollInterval is in microseconds.
	PollInterval int64
	Installation installed.Agent
}

// ClusterView is a cluster with its current state.
type ClusterView struct {
	Cluster
	Freshness Freshness
	// PolledAt is 0 when this replica has not seen a poll.
	PolledAt        int64
	Services        int
	ServicesHealthy int
	ServicesFailed  int
}
