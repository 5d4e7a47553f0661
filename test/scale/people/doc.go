// Package people calls a hub's API as its first administrator: it declares
// repositories, clusters and services, and delivers webhooks as a Git host does.
// The benchmarks and the seeds of test/scale call it. It starts no process and
// plays no cluster.
//
// Invariant: everything goes through the public API, with the limits that it has
// for everybody.
package people
