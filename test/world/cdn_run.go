package world

import (
	"time"
)

// Run is all data about one run of the delivery: what the upstream saw, what each
// agent received, what the hub stored in the end, and what a person did. Check judges
// it. It can be encoded as JSON, so that a run can be stored and judged again.
type Run struct {
	Scenario string
	Ended    time.Time
	Allow    Allowance
	Requests []Request
	// Commits are, by repository, all commits that upstream ever had.
	Commits map[string][]string
	Agents  []AgentRun
	Store   StoreState
	// Declared are the services that were created, as cluster/name.
	Declared []string
	// Deleted are those of them that a person deleted on purpose.
	Deleted []string
	// Want is how each service must be in the end.
	Want []Want
	// Human is what a person did to help, in order.
	Human []string
	// Confirmed is when a person confirmed a restore, zero if nobody did.
	Confirmed time.Time
}

// Allowance is what a scenario declares beforehand about its run. The zero value
// allows nothing.
type Allowance struct {
	// FrozenMachine: a whole machine was stopped and resumed, which may cause one
	// overlap of at most 2 s.
	FrozenMachine bool
	// Clones are clones of a repository beyond its first.
	Clones map[string]int
	// Restored: the database was put back to an earlier state, and one
	// confirmation is asked of a person.
	Restored bool
	// Lost are services whose declaration went with a restored database.
	Lost []string
	// NoErrors: no agent may see an error that its client's own tries do not
	// get over.
	NoErrors bool
}

// Request is one request that upstream saw.
type Request struct {
	Repo  string
	Kind  string // ls-refs or fetch
	Start time.Time
	End   time.Time // zero while it runs
	Haves int
	Peer  string
}

// AgentRun is what one agent did.
type AgentRun struct {
	Cluster string
	Steps   []Step
}

// StepKind is the kind of an agent's step.
type StepKind string

// The steps of an agent.
const (
	StepList    StepKind = "list"    // took a list
	StepApplied StepKind = "applied" // took content of a service
	StepDeleted StepKind = "deleted" // removed a service
	StepHeld    StepKind = "held"    // missed a service in a list
	StepRefused StepKind = "refused" // got bytes of another digest
	StepError   StepKind = "error"   // could not do what it wanted
)

// Step is one thing that an agent did, with the place in the feed of the list
// that told it to.
type Step struct {
	At          time.Time
	Kind        StepKind
	Incarnation string `json:",omitempty"`
	Sequence    int64  `json:",omitempty"`
	Service     string `json:",omitempty"` // its name on this cluster
	// Promised is the digest in the list, Computed that of the files on disk.
	Promised string `json:",omitempty"`
	Computed string `json:",omitempty"`
	// Revision is the hub's count, Version the version in the files.
	Revision int64 `json:",omitempty"`
	Version  int   `json:",omitempty"`
	// Tombstone is what told to delete.
	Tombstone string `json:",omitempty"`
	Error     string `json:",omitempty"`
}

// StoreState is the content of the hub's database.
type StoreState struct {
	Heads        []StoredHead
	Leases       []StoredLease
	Services     []StoredService
	Incarnations []string // oldest first
	// DeletedEvents are the services that the log of events calls deleted.
	DeletedEvents []string
}

// StoredHead is a row of heads.
type StoredHead struct {
	Repo, Ref, Folder, Revision, Digest, Error string
	Epoch                                      int64
}

// StoredLease is a repository's lease.
type StoredLease struct {
	Repo, Holder string
	Epoch        int64
}

// StoredService is a service with what its cluster reported.
type StoredService struct {
	Name                       string // cluster/name
	Digest, Applied            string
	Revision                   int64
	Sync, Tombstone            string
	SourceRevision, SourceText string
}

// Want is how a service must be in the end.
type Want struct {
	Service string // cluster/name
	// Version is the version that the files must have; 0 means that nothing is
	// delivered.
	Version int
}
