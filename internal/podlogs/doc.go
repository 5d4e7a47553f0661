// Package podlogs reads the logs of pods as one: all containers of some workloads,
// merged by their times, with what stands around a match, and with pods that start
// later while it follows.
//
// It knows neither hubs nor services. Its caller gives the workloads, and a way to make
// requests to an API server with a person's name and rights: the cluster's own RBAC
// decides what may be read. hub/console/liveapi calls it for the console and for axle
// logs, which therefore show the same lines.
//
// Invariants:
//   - Times are UTC, whatever offset a node writes, so that a change to or from summer
//     time reorders nothing.
//   - A line is valid UTF-8 without control characters and of at most 16 KiB; how much
//     was cut off is counted.
//   - Without Follow, lines come in the order of their times and none is lost. With it,
//     they first do, and then come in the order of their times within a tenth of a
//     second. Lines that come faster than they are taken are dropped and counted: at most
//     5,000 lines and 4 MiB wait.
//   - A log that was cut is read on from its last time: the lines of that time that were
//     sent already are told by their number.
//   - At most 50 containers are read at once. What is left out is said in a Notice.
package podlogs
