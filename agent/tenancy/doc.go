// Package tenancy is the one place where an agent decides as whom it acts for a
// service, and on what: before the service is rendered, and so before its
// lookups, tests, hooks, syncs of single objects, diffs, heals, adoptions,
// prunes and drains.
//
//	a service's settings --Gate.Permit--> Permit   (or Forbidden, and what to set)
//	                                        |- REST: a configuration that acts as the account
//	                                        |- MayWrite, MayRead: namespaces and kinds
//
// Whoever asks an API server for a service has a Permit, because what they need
// for it comes from one: agent/apply plans objects and makes clients with it,
// agent/testrun its clients, agent answers lookups with it. The zero Permit
// opens nothing.
//
// It asks nothing itself: what an account is granted is the API server's to
// judge. It does not limit what the agent does for itself (inventories,
// watches of what was applied, discovery).
//
// What holds:
//   - only services of the project default without limits act as the agent;
//   - an account of the agent's namespace, or of kube-*, is lent to no project
//     that is limited, nor one of a namespace that is neither the service's own
//     nor named by the limits;
//   - nothing outside of the allowed namespaces and kinds is written or looked
//     up.
package tenancy
