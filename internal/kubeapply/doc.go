// Package kubeapply writes objects to one cluster by server-side apply: the agent's
// manifests, the objects of the chart, and the custom resource definitions. Before the
// definitions it can say whether another product's operator lives on the same kinds.
//
// It does not wait for what it wrote, deletes nothing, and keeps no state. The command
// line and the operator's crds command call it.
//
// Invariants: every request ends within 30 s. Definitions are applied 8 at a time; an
// error names the object.
package kubeapply
