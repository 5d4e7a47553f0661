// Package upgrade replaces an agent by its next version, inside its own cluster and
// without help from outside.
//
// The old agent starts the new one beside itself, as Deployment axle-agent-candidate.
// The candidate polls, reads the inventories and renders every service without
// writing anything. Only then does the old agent stop its work and hand over. It
// keeps watching: if the candidate is not healthy in time, it deletes the candidate
// and continues to work. If the candidate is healthy, the old agent writes the new
// version into its own Deployment, and so ends. The new installed agent takes over
// from the candidate. If the installed agent does not start, the candidate installs
// the previous version again, and works until that version asks for the work.
//
//	offered -> Shadow -> Handed -> Committing -> Returning -> (none)
//	              |         |          |            ^
//	              |         |      Reverting -------+
//	              +---------+--> (none), with the failure kept
//
// Both sides communicate through one ConfigMap, axle-agent-upgrade: the installed
// agent writes its key "upgrade", the candidate its key "candidate". The ConfigMap
// decides which agent works, so it is read after every start, and an agent killed at
// any point continues from there. The package does not know what an agent's work is
// (package agent does) nor which version comes when (the hub does).
//
// Invariants: without an upgrade there is one request, at the start; at most one of
// the two agents works, the one named by the ConfigMap, and an agent stops before it
// reports that it stopped; a candidate that is not healthy within 15 min, rendering
// or at work, is rolled back; a failed upgrade is not tried again until the hub asks
// for something else.
package upgrade
