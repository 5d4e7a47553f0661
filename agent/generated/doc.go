// Package generated keeps values stable that templates generate: passwords,
// certificates and names that differ each time they are rendered.
//
// It looks objects up with a function from its caller, agent/poll, and changes the
// rendered objects before they are applied. It writes nothing to the cluster, and
// does not decide what is applied.
//
// Invariants: rendering the same revision again changes no existing object; whatever
// runs once per revision has one name and one identity in that revision.
package generated
