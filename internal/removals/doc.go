// Package removals is the table of the API versions that Kubernetes removes: in which minor
// version, and what to use instead. table.go is made of the lifecycle methods of k8s.io/api
// by make generate; versions that k8s.io/api has dropped together with their types stand in
// dropped.go.
//
// It asks no cluster. agent/readiness compares with it what a cluster has.
//
// Invariants: the table is complete up to Known, the minor version of k8s.io/api in go.mod.
// For later versions it has what is planned as of Known.
package removals
