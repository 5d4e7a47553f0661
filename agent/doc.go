// Package agent is the deployment agent. There is one in each cluster: it pulls from
// the hub what the cluster should run, and applies it. This package only wires the
// parts and manages what they share: the identity, the connections to the hub and to
// the API server, and the health page. agent/poll does the work of a poll;
// agent/README.md is the map.
//
// An agent that was installed from its manifests upgrades itself: life.go decides
// which of the two versions works, and agent/upgrade holds the protocol between them.
// configuration.go lists what can change without a restart.
//
// It also implements the commands of axle-agent for people: render, health, doctor.
// cmd/axle-agent calls it, and agent/agenttest in tests.
//
// Invariants:
//   - the agent's key is stored before it is registered, so that after a lost answer
//     the agent registers again with the same key;
//   - a deploy token is renewed after 2/3 of its life, and at once when the hub
//     rejects it;
//   - the process stays up while the hub, the API server or both are unavailable, and
//     the health page reports it.
package agent
