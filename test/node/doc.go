// Package node runs one real Kubernetes node on this machine: kubelet, kube-proxy,
// containerd and runc in a network namespace, with a registry beside it and an API server
// of test/kube. Pods run from images that the node pulls, under the kernel's own
// isolation. The packages story and cmd/dev call it.
//
// It is one node; NetworkPolicies are accepted and not enforced. Names of Services are
// answered by a dnsmasq that the package keeps up to date, and no other name is.
// It needs root; Missing names what a machine lacks.
//
// Invariants: the node reaches itself, its pods, and Host (registry, API server, and what
// a caller serves there), and no other address: the namespace has no other route.
// Everything is below one folder, one node at a time on a machine (a lock). Close ends all
// processes, mounts, cgroups and links of the node; what a killed one left, the next Start
// removes first. A node that is not ready within 2 min is an error that quotes the end of
// a log.
package node
