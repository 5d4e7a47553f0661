// Package install tests the chart of the control plane and the commands that put it
// into a cluster, against real API servers: the examples of values are accepted under
// restricted Pod Security and equal their goldens, axle install and stock Helm give
// the same objects, and what is broken is named with its repair.
//
// The pods of an installed control plane are processes of this machine; see test/kube.
package install
