// Package wave says when a rendered object is applied: its stage and its wave, and the
// moment of a hook. It reads this, and what else the agent obeys (recreate, prune), from
// the object's kind and annotations; annotations of Argo CD, Helm and Plural count where
// ours are missing.
//
// It makes no requests and keeps nothing. The other packages below agent/apply and
// agent/apply itself call it.
//
// Invariants: equal objects get equal positions; a kind whose content cannot be
// recreated is in KeptKinds; the packed form of an item keeps its field names, because
// inventories hold it.
package wave
