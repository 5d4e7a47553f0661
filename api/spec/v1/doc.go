// Package specv1 is the spec of a service: what a person declares, defined once.
//
// The hub stores it as JSON, hashes it (docs/spec/spec-digest.md) and validates it in
// hub/fleet. The agent acts on it, and the render contract takes its settings from it.
// The ServiceDeployment kind and the messages of both APIs are other forms of it with
// the same JSON names; api/spec/convert converts between them by these names.
//
// Three struct tags say where a field goes:
//
//	json   its name in JSON, in the database, in api/v1alpha1 and in field paths
//	hub    its number in the message of api/hub/v1/spec.proto
//	agent  its number in the message of api/agent/v1/spec.proto
//
// The tests of this package write both spec.proto files. A number is never changed or
// used again. Without a hub tag a field is set by the hub alone. With an agent tag it
// reaches agents and is part of the spec digest; without one it is neither. Instead of
// a number, "ServiceSpec" and "Render" name a message in agent.proto that has the field
// already. Fields of Spec that came later are in the message Settings.
//
// Invariants: a field is left out of JSON while it is zero, so that a field that a later
// release adds changes no stored spec and no digest. The package imports nothing.
package specv1
