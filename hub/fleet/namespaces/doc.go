// Package namespaces keeps a namespace on every cluster that a managed namespace
// selects, and optionally a service in it.
//
// A managed namespace is two global services (hub/fleet/globals): NAME-ns, whose
// content the hub makes itself (hub/fleet/bundled), and NAME-core, whose template
// people give. Selection, targets, revisions and states are theirs.
//
// It stores nothing of its own: the declaration is the context of NAME-ns, which has
// no Liquid that would read it. hub/console checks access before it calls.
//
// Invariants:
//   - The two are written one after the other, after both were checked. A hub that is
//     killed in between has the first one, and the same call again writes the second.
//   - A namespace is deleted from a cluster only with Delete. In every other case it
//     stays there, with what is in it.
//   - A project that may not use a namespace, or no cluster-scoped objects, cannot
//     manage it. The agents hold it to the same limits.
//   - Pull secrets are names in the namespace itself. No Secret is copied.
package namespaces
