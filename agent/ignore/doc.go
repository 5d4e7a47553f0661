// Package ignore knows which fields of an object are left to others, and puts the
// values that the cluster has into what is about to be applied.
//
// It reads no cluster and applies nothing; agent/apply calls it with what it has
// read. The paths are JSON pointers, the part of jq that names fields, and
// manager:NAME; docs/drift.md has the rules.
package ignore
