// Package capi runs the core manager of Cluster API as a process beside a management
// cluster of test/kube, for tests and the demo. Its webhooks work, and its definitions are
// those of its own module.
//
// build.sh builds the program from the nested module capidev, by `make capidev`. This
// package finds it in the cache by the hash of its sources and builds nothing itself. It knows
// no provider: package provider is one whose control planes are real API servers, and the
// folder template is a template of clusters that it makes.
//
// Invariants: the manager listens on 127.0.0.1 only, and does not outlive the process that
// started it.
package capi
