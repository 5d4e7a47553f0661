// Package kube starts real Kubernetes control planes on this machine for tests
// and for the demo: one etcd, and on it as many API servers as asked for, each
// with its own key prefix, certificate authority, users and address. On request
// a cluster also gets the controller-manager, kwok for ordinary pods, and a
// process kubelet that runs images named axle.test/<binary>:<version> as real
// processes of this machine.
//
// The programs are one binary, built from the nested module kubedev by `make
// kubedev`. This package finds it in the cache by the hash of its sources and builds
// nothing itself. It does not schedule by resources, and runs no container images and
// no network plugin: every pod lives on the loopback interface.
//
// Callers are the tests of the agent, of the command line and of test/world, and
// cmd/dev. A Bed is the etcd with all clusters on it. The tests of a run have one Bed, which
// the keeper of the run has started for them (test/program, ADR 148), and use its API servers
// in turn: New, or Lease, gives a cluster that is as a new one; what a test left is taken out
// of etcd when it ends (ADR 136). Shared is one that the tests of a binary use together. A test
// without a run keeps a Bed for its process.
//
// Invariants: everything listens on 127.0.0.1 only, except an API server with
// ClusterConfig.Address. No child outlives the process
// that started it, or the keeper, even one ended by SIGKILL. The host's file system is written only
// below the Bed's folder, which goes away with the process. A cluster that is not
// ready within 2 min is an error that quotes the end of its log.
package kube
