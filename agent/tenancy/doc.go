// Package tenancy is the one place where an agent decides which account it uses for a
// service, and which objects it may touch. It decides before the service is rendered,
// and so before its lookups, tests, hooks, single-object syncs, diffs, heals,
// adoptions, prunes and drains.
//
//	a service's settings --Gate.Permit--> Permit   (or Forbidden, and what to set)
//	                                        |- REST: a configuration that acts as the account
//	                                        |- MayWrite, MayRead: namespaces and kinds
//
// Code that calls an API server for a service needs a Permit, because the Permit
// makes the client: agent/apply plans objects and makes clients with it,
// agent/testrun makes its clients with it, and agent answers lookups with it. The
// zero Permit allows nothing.
//
// The package makes no requests: the API server decides what an account may do. It
// does not limit what the agent does for itself (inventories, watches of applied
// objects, discovery).
// Invariants:
//   - only services of the project default without limits, and of projects in which
//     only administrators have rights, use the agent's own account;
//   - a project with limits cannot use an account in the agent's namespace or in
//     kube-*, nor one in a namespace that is neither the service's own nor named in
//     the limits;
//   - nothing outside the allowed namespaces and kinds is written or looked up;
//   - a namespace with the credentials of a cluster is for the service that makes it.
package tenancy
