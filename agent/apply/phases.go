package apply

// phase is how far a service's last pass got.
type phase string

// The phases.
const (
	// phaseApplying: objects are being written, or some could not be.
	phaseApplying phase = "Applying"
	// phaseWaiting: everything is written; what the service no longer renders is
	// deleted once the changed objects are healthy.
	phaseWaiting phase = "Waiting"
	// phaseApplied: everything is written and nothing is left over.
	phaseApplied phase = "Applied"
	// phasePruneHeld: everything is written; a person must release the prune.
	phasePruneHeld phase = "PruneHeld"
	// phaseFailed: the changed objects did not become healthy in time; nothing was
	// pruned.
	phaseFailed phase = "Failed"
	// phaseDraining: the service leaves the cluster.
	phaseDraining phase = "Draining"
)
