// Package clustercheck evaluates the checks of cluster templates: CEL expressions over the
// variables of a cluster and the status of its Cluster object. deploy/clusters/README.md
// describes them for people.
//
// An expression is compiled before use and has bounds of its length, its cost and its time.
// It sees nothing but its two variables.
package clustercheck
