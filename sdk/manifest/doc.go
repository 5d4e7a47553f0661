// Package manifest reads objects of the group deployments.plural.sh from YAML and
// converts them to requests of the hub's API, so that a file means the same to axle
// apply and to the operator.
//
// Exporter is the inverse: it makes the object that declares what the hub has, and
// reading that object again changes nothing. Secrets are never exported.
//
// It is strict: an unknown field, a wrong type or an unknown kind is an error with
// file and line of the document. What an object takes from Secrets and ConfigMaps is
// taken from documents of the same set, or from where the caller of Object reads it.
// It makes no calls; the caller sends the items in the order in which Read returns
// them (projects, repositories, clusters, contexts, services).
package manifest
