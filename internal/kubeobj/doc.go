// Package kubeobj holds what all parts that handle objects of a cluster must agree
// on: how an object is named, which labels and annotations mark it as ours, and how
// its metadata is reduced to the few bytes that drift is decided from.
//
// It calls no API server and keeps nothing. The agent's apply, drift and poll call
// it; they share these types and do not know each other's.
//
// A Live object is at most about 200 bytes, so that an agent can keep thousands of
// them.
package kubeobj
