package inventory

// Phase is how far a service's last pass got.
type Phase string

// The phases.
const (
	// Applying: objects are being written, or some could not be.
	Applying Phase = "Applying"
	// Waiting: everything is written; what the service no longer renders is
	// deleted once the changed objects are healthy.
	Waiting Phase = "Waiting"
	// Applied: everything is written and nothing is left over, except what stays
	// because pruning is off.
	Applied Phase = "Applied"
	// PruneHeld: everything is written; a person must release the prune.
	PruneHeld Phase = "PruneHeld"
	// Failed: the changed objects did not become healthy in time; nothing was
	// pruned.
	Failed Phase = "Failed"
	// Draining: the service leaves the cluster.
	Draining Phase = "Draining"
)
