// Package scale plays fleets of clusters against a real hub process: each
// cluster registers with a key of its own, polls, fetches specs, downloads and
// verifies tarballs and reports statuses, over real connections and through
// the agent's own client. It applies nothing, so one process can be thousands
// of clusters. Nothing here is linked into what ships.
//
//	New ---> Join (registers, pings) ---> Run (polls until its context ends)
//	                 \---> Cluster.Pass: one poll and what follows from it
//	StartPlayers ---> processes that run Play, each with a part of the clusters
//
// The packages below it use it: fleet, apply, proxy and push measure, seed fills a
// hub's store, hubproc runs hubs as processes, people calls their API.
//
// Invariants:
//   - every byte that a simulated cluster takes is one that a real agent would
//     take: signed lists, digests that are checked after unpacking;
//   - clusters are grouped in sites of 150 that dial from a loopback address
//     each, since the hub limits registrations per address;
//   - an idle poll starts no goroutine, and a cluster costs a few KiB.
package scale
