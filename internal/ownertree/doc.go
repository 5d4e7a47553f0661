// Package ownertree finds what the objects of a service own in their cluster, down to
// the pods: Deployment, ReplicaSet, Pod; CronJob, Job, Pod; a HelmRelease of Flux and
// its workloads; a Rollout of Argo with its ReplicaSets and analyses; and the
// workloads that an operator creates for its own kinds. It judges each by its status
// and names the first one that fails.
//
// It reads lists on demand with a function of its caller, which uses the name and
// rights of the person who asks. It watches and keeps nothing. Ownership can only be
// followed upwards, so it lists the kinds that may be owned, in the namespaces of the
// service. Lists that it may not read, and objects beyond a limit, are named in
// Tree.Notes: an incomplete tree never looks complete.
//
// Limits: 20 namespaces, 20 releases, 2,000 objects of a kind in a namespace in pages
// of 200, 2,000 nodes. hub/console calls it.
package ownertree
