// Package proxy tries the way from a person's kubectl through the hub and an
// agent to a real API server: what comes through, what must not, and what it
// costs. Its tests hold it to kubectl and client-go as they are; its bench is
// what `make bench-proxy` runs. Nothing of it ships.
package proxy
