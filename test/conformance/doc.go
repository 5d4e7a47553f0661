// Package conformance runs Kubernetes' own end-to-end tests against a cluster
// of the test bed, directly and through the hub's proxy, and compares what
// passes. The suite is k8s.io/kubernetes/test/e2e, built by `make
// conformance` from the nested module e2e into the cache; this package finds it
// there by the hash of its sources and builds nothing itself. cmd/dev calls it.
//
// passes.txt lists the [Conformance] tests that must pass both ways. skips.txt lists
// all others, each below the reason why this test bed cannot pass it. A test of the
// suite that is in neither list, or in both, is an error, and so is a name that the
// suite does not know.
//
// The package starts no clusters or hubs; it is given kubeconfigs. Tests run in
// shards, one process of the suite each; those marked [Serial] or [Disruptive] run
// alone at the end. A test that exceeds its limit is interrupted, and the rest of its
// shard continues in a new process.
package conformance
