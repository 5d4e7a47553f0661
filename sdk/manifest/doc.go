// Package manifest reads objects of the group deployments.plural.sh from YAML and
// converts them to requests of the hub's API, so that a file means the same to axle
// apply and to the operator.
//
// It is strict: an unknown field, a wrong type or an unknown kind is an error with
// file and line of the document. Secrets that an object refers to are taken from
// Secret documents of the same set. It makes no calls; the caller sends the items in
// the order in which Read returns them (repositories, clusters, services).
package manifest
