// Package controller writes custom resources of a management cluster to the hub:
// Project, GitRepository, HelmRepository, Cluster, ServiceContext, ServiceDeployment,
// Group, ServiceAccount and FederatedCredential. Package operator starts it.
//
// One reconciler serves all kinds. It is a list of named steps (reconcile.go); a kind
// is a value with its types and its calls of the hub (one file each). What an object
// means is decided by sdk/manifest, as for axle apply; who owns it by
// operator/ownership; with which token it acts and what it may name by
// operator/tenancy. Sources of Flux are read by operator/flux.
//
// Invariants: the hub is not called while an object's hash is the stored one and no
// check is due. The finalizer is stored before the first write to the hub, so a
// killed operator leaves nothing behind that its successor does not know. 8 workers a
// kind by default, one reconcile of one object at a time. Every retry has full
// jitter and a bound of 5 min. Secrets are read when they are needed and not cached;
// only names and versions of Secrets and ConfigMaps of the admin namespaces are. A
// Secret that the operator did not create is not written.
package controller
