// Package agentkey holds the keys between the hub and its agents. Keys are the
// identities of agents: bootstrap tokens, registration, renewal, deploy tokens
// and the detection of two agents that use one identity. Signer holds the keys
// with which the hub signs what it sends to clusters, and checkpoints of the
// audit log.
//
// It issues tokens through identity.Credentials; hub/identity authenticates
// them. It knows clusters only by the Clusters interface, which hub/fleet
// implements. hub/agentapi and hub/console call it.
//
// Invariants:
//   - Deploy tokens live 24 h; the previous one stays valid until its successor
//     was used.
//   - A cluster that registers with a bootstrap token gets only tags that the
//     token allows.
//   - A nonce renews only once; requests whose time is more than 10 min off are
//     refused.
//   - A new signing key is announced for 48 h before it signs. Keys are replaced
//     after 90 days.
package agentkey
