// Package clustertopology makes the spec of a Cluster of Cluster API from a ClusterClass and
// the variables of a cluster template. The table in deploy/clusters/README.md is this package.
//
// It validates nothing: callers do, by the schema of the template. A value is placed as it is, and never
// becomes part of a text, but for the two bounds of a pool, which are numbers.
package clustertopology
