// Package operator measures axle-operator as a process between a real API server and a
// hub process: what it takes to read thousands of custom resources, what it does while
// nothing changes, and what one edit costs. cmd/dev calls it.
//
// It counts calls to the hub in a proxy of its own, so that their number is the
// operator's and nobody else's. It does not measure the hub, and it does not change the
// operator's times: a check every 30 min, spread.
package operator
