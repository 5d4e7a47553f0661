// Package apply makes a cluster hold what a service renders: it finds out whose
// each object is, applies with server-side apply in stages and waves, remembers
// what it applied in an inventory in the cluster, and removes what the service
// stopped rendering, if it may.
//
// It renders nothing, watches nothing and judges no health: what is known of
// the live objects comes from a Live, which agent/drift is. agent/poll calls it
// with rendered objects, one pass a service at a time; agent/drift calls Heal.
//
// What holds:
//   - nothing is asked or planned for a service without its permit, which makes
//     the client and judges each object;
//   - an object that is not ours is never written or deleted, unless adoption
//     was asked for;
//   - an object is in the inventory before it is applied and leaves it after
//     it is gone, so an agent killed at any point finds all it made;
//   - only objects of the inventory are deleted, with their uid and version as
//     preconditions and after their own annotations named this service;
//   - nothing is deleted that another service of the cluster may still name:
//     what it renders and takes is handed over, for anything else the prune waits,
//     after 2 minutes as held, until a person releases it;
//   - nothing is deleted by itself while a part of the service was left out;
//   - an object that did not change is written at most 9 times in 10 minutes;
//   - fields that are left to others keep the value that the cluster has;
//   - a pass over unchanged objects sends no request;
//   - a hook runs once for each revision, and a step begins writes for 10 s;
//   - every text passes the service's scrubber.
//
// The state of a service, kept in its inventory:
//
//	(hooks, phases and their deadlines: phase.go, hookrun.go)
//
//	(none) --> Applying --> Waiting --> Applied
//	              |            |  \---> PruneHeld --(approved)--> Applied
//	              v            v
//	           Failed <---- (10 min without health)      each --> Draining --> gone
package apply
