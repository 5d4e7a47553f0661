// Package ownertree finds what the objects of a service own in their cluster,
// down to the pods: Deployment, ReplicaSet, Pod; CronJob, Job, Pod; a HelmRelease
// of Flux and its workloads; a Rollout of Argo with its ReplicaSets and analyses;
// and whatever workloads an operator makes for its own kinds. It judges each by
// its status and names the first that fails.
//
// It reads lists when it is asked, by a function of its caller, in whose name
// and with whose rights that happens; it watches and keeps nothing. Owners can
// only be followed upwards, so it lists the kinds that may be owned in the
// namespaces of the service. What it may not read, and what is beyond a bound,
// is said in Tree.Notes: a tree that is not whole never looks as if it were.
//
// Bounds: 20 namespaces, 20 releases, 2,000 objects of a kind in a namespace in
// pages of 200, 2,000 nodes. hub/console calls it.
package ownertree
