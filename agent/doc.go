// Package agent is the deployment agent: one in each cluster, it pulls what
// the cluster should run from the hub and makes it so. This package only wires
// the parts and looks after what they share: the identity, the connections to
// the hub and to the API server, and the health page. What happens at a poll
// is in agent/poll; agent/README.md is the map.
//
// An agent that was installed by its manifests replaces itself: life.go says
// which of the two versions works, agent/upgrade how that is agreed. What may be
// changed without a restart is in configuration.go.
//
// It also holds what `axle-agent` does for people: render, health, doctor.
// cmd/axle-agent calls it, and agent/agenttest in tests.
//
// Invariants:
//   - the agent's key is stored before it is registered, so that a lost answer
//     is asked for again with the same key;
//   - a deploy token is renewed after 2/3 of its life, and at once when the
//     hub refuses it;
//   - the process stays up while the hub, the API server or both are away, and
//     its health page says so.
package agent
