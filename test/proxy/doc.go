// Package proxy tests the path from a person's kubectl through the hub and an agent
// to a real API server: what must pass, what must not, and what it costs. Its tests
// use kubectl and client-go unchanged; its benchmark is `make bench-proxy`. It is not
// shipped.
package proxy
