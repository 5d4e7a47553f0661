// Package clusters makes the commands about clusters and what reaches into them:
// axle clusters, agents, kubectl and logs.
//
// Kubeconfig files are written by cli/kubeconfig, the hub reads logs. It
// does not render or apply what services declare, the agent does. Package cli calls
// it.
//
// Invariants: kubectl gets a credential only for a hub with TLS, and for each
// cluster a kubeconfig and a cache of its own, both removed at the end. The exit
// code of axle kubectl is 0 only if the command succeeded on every cluster.
package clusters
