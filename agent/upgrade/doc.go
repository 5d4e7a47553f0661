// Package upgrade is how an agent is replaced by its next version, inside its
// own cluster and without help from outside.
//
// The old agent starts the new one beside itself, as Deployment
// axle-agent-candidate. The candidate polls, reads the inventories and renders
// every service in shadow, without writing anything; only then the old agent
// stops its work and hands over. It keeps watching: when the candidate is not
// well in time, it is deleted and the old agent goes on. When it is well, the
// old agent puts the new version into its own Deployment, and ends with that;
// the new one takes over from the candidate. When what was installed does not
// start, the candidate installs the version before again, and works until that
// one asks for the work.
//
//	offered -> Shadow -> Handed -> Committing -> Returning -> (none)
//	              |         |          |            ^
//	              |         |      Reverting -------+
//	              +---------+--> (none), with the failure kept
//
// Both sides talk through one ConfigMap, axle-agent-upgrade: its key "upgrade"
// is the installed agent's to write, "candidate" the candidate's. It decides
// who works, so it is read after every start; a kill at any point is gone on
// from there. It does not know what an agent's work is (package agent does) nor
// which version comes when (the hub does).
//
// Invariants: while no upgrade is under way there is one request, at the start;
// at most one of the two works, the one that the ConfigMap names, and the one
// that stops has stopped before it says so; a candidate that is not well within
// 15 min, in shadow or at work, is taken back; a failure is not tried again
// until the hub asks for something else.
package upgrade
