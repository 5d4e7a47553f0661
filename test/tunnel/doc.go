// Package tunnel tests the two ends of the agents' tunnel together, which know
// each other by their protocol alone: hub/tunnel behind a real TLS listener,
// agent/tunnel in front of a cluster that is a function, and what lies between
// them: proxies, replicas, cut lines.
//
// What a whole hub and a whole agent do with it is tested in test/world.
package tunnel
