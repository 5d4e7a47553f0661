// Package configuration follows the AgentConfiguration named default of a cluster, and
// writes to its status what the agent made of it.
//
// It does not interpret the settings: agent/poll does. Package agent runs it.
//
// Invariants: without the kind in the cluster it makes no requests; an invalid field is
// reported and left out, the others apply.
package configuration
