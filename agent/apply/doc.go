// Package apply makes a cluster hold what a service renders. It finds out who owns
// each object, applies objects with server-side apply in stages and waves, records
// what it applied in an inventory in the cluster, and removes what the service no
// longer renders, if it may.
//
// It renders nothing, watches nothing and judges no health: it reads the state of
// live objects from a Live, which agent/drift implements. agent/poll calls it with
// rendered objects, one pass per service at a time; agent/drift calls Heal.
//
// Invariants:
//   - nothing is requested or planned for a service without its permit, which makes
//     the client and judges each object;
//   - an object that is not ours is never written or deleted, unless the service
//     adopts;
//   - an object is added to the inventory before it is applied and removed after it
//     is gone, so that an agent killed at any point finds everything it created;
//   - only objects in the inventory are deleted, with their uid and version as
//     preconditions, and only if their own annotations name this service;
//   - nothing is deleted that another service of the cluster may still name: an
//     object that the other renders and takes is handed over; for any other the prune
//     waits, and is held after 2 minutes until a person releases it;
//   - nothing is pruned automatically while a part of the service was left out;
//   - while a service's pruning is off, what it no longer renders stays its own and is
//     named, except for runs of hooks and what another service takes;
//   - an object that did not change is written at most 9 times in 10 minutes;
//   - fields that are left to others keep the value that the cluster has;
//   - a pass over unchanged objects sends no request;
//   - a hook runs once for each revision, and a step starts writes for 10 s at most;
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
