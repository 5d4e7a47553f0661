// Package ignore knows which fields of an object are left to others. It copies the
// cluster's values of these fields into the object that is about to be applied.
//
// It makes no requests and applies nothing; agent/apply passes it the objects it
// read. Paths are JSON pointers, the part of jq that names fields, and manager:NAME;
// docs/drift.md has the rules.
package ignore
