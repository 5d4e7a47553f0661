// Package manifest reads objects of the group deployments.plural.sh from YAML
// and turns them into what the hub's API takes, so that the CLI's apply and
// the operator mean the same by one file.
//
// It reads strictly: an unknown field, a wrong type or an unknown kind is an
// error with file and line of the document. Secrets that an object refers to
// are taken from Secret documents of the same set. It calls nobody; the caller
// sends the items in the order in which Read returns them (repositories,
// clusters, services).
package manifest
