// Package flux reads the sources of Flux (source.toolkit.fluxcd.io) in the management
// cluster: which of their kinds the API server serves, an object when one is needed, and
// what changes. operator/controller calls it; sdk/manifest says what a source means.
//
// It writes nothing to a source, and has no rights to: they belong to Flux's
// source-controller. It makes the Repository that stands for one. It calls no hub. Of each object it keeps namespace, name, uid and
// generation only.
//
// Invariants: one look at the API's discovery a minute, and at most one in 5 s while
// objects wait for a kind. A kind is watched while it is served, and no longer; both
// without a restart. A change of a status wakes nobody.
package flux
