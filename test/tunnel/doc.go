// Package tunnel tests the two ends of the agents' tunnel together, which share only
// their protocol: hub/tunnel behind a real TLS listener, agent/tunnel in front of a
// cluster that is a function, and between them proxies, replicas and broken
// connections.
//
// test/world tests what a whole hub and a whole agent do with it.
package tunnel
