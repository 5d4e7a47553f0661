// Package kubeobj holds what every part that deals with objects of a cluster
// must agree on: how an object is named, which labels and annotations say that
// it is ours, and how its metadata is reduced to the few bytes by which drift
// is decided.
//
// It talks to no API server and keeps nothing. The agent's apply, drift and
// poll call it; they do not know each other's types, they share these.
//
// A Live object is bounded at about 200 bytes, so that an agent may keep
// thousands of them.
package kubeobj
