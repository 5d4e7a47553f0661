package fleet

import "github.com/axle-cd/axle/hub/fleet/liveness"

// Sync says how far a service is from its declaration.
type Sync string

// The closed list.
const (
	Synced   Sync = "Synced"
	Pending  Sync = "Pending"
	Applying Sync = "Applying"
	Drifted  Sync = "Drifted"
	Failed   Sync = "Failed"
	Held     Sync = "Held"
	Paused   Sync = "Paused"
)

// Health is the health of a service's objects.
type Health string

// The closed list.
const (
	Healthy       Health = "Healthy"
	Progressing   Health = "Progressing"
	Degraded      Health = "Degraded"
	Suspended     Health = "Suspended"
	Missing       Health = "Missing"
	HealthUnknown Health = "Unknown"
)

// Freshness says how current the shown state is.
type Freshness = liveness.Freshness

// The closed list.
const (
	Fresh   = liveness.Fresh
	Stale   = liveness.Stale
	Unknown = liveness.Unknown
)

// Status is an agent's last report on a service.
type Status struct {
	Sync    Sync
	Reason  string
	Health  Health
	Message string
	Errors  []StatusError
	// TarballDigest and the next fields are what is applied.
	TarballDigest  string
	SpecDigest     string
	Revision       int64
	SourceRevision string
	AppliedAt      int64
	// Components is the compressed list as the agent sent it; edges unpack it.
	Components []byte
	Counts     Counts
}

// StatusError is one error.
type StatusError struct {
	// Source is source, render, apply, prune, health or agent.
	Source  string `json:"source"`
	Message string `json:"message"`
	Since   int64  `json:"since,omitempty"`
	Warning bool   `json:"warning,omitempty"`
}

// Counts are the numbers of components by health.
type Counts struct {
	Total       int `json:"total"`
	Healthy     int `json:"healthy"`
	Progressing int `json:"progressing"`
	Degraded    int `json:"degraded"`
	Other       int `json:"other"`
}

// Report is an agent's report on one service.
type Report struct {
	ServiceID string
	// BaseHash is the hash that the agent believes is stored; empty overwrites.
	BaseHash string
	// NewHash is the hex SHA-256 of the status as the agent sent it. The edge
	// has checked it.
	NewHash string
	Status  Status
}

// ReportBatch is one call of an agent.
type ReportBatch struct {
	ClusterID string
	Reports   []Report
	// Whole is set when the reports are all that the agent has.
	Whole bool
	// Drained are ids of completed tombstones.
	Drained []string
	// Heals are the objects that the agent healed, ordered by number, which
	// counts from its boot.
	Heals  []Heal
	BootID string
}

// ReportResult answers a ReportBatch.
type ReportResult struct {
	// Resync are services to send completely.
	Resync []string
	// StatusHash is the hash over what is now stored for the cluster.
	StatusHash string
}
