// Package templates measures clusters that the hub makes from a template: how long each
// takes until its own agent is connected, and what the processor time of the core manager of
// Cluster API, of the management cluster's agent and of the hub is for it. cmd/dev calls it.
//
// All clusters are wanted at once, and each control plane is a real API server.
package templates
