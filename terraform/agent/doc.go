// Package agent installs and removes agents for the Terraform provider: the objects that
// the hub renders, by server-side apply.
//
// How to reach a cluster comes from write-only attributes and is kept nowhere. So an agent
// is removed through its own tunnel, or by the pod's own account: the namespace first, and
// the rights that the requests themselves need in one request at the end. Package
// terraform calls it; it knows no state.
//
// Invariant: the image of an agent that runs stays, as the hub's upgrades own it.
package agent
