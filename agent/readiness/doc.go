// Package readiness answers what in this cluster speaks against a version of Kubernetes:
// API versions that it removes, PodDisruptionBudgets that let no pod go, and kubelets that
// are too old for it. It reads with the agent's own rights, so that the manifests of Helm's
// releases, which are in Secrets, stay in the cluster: a report has names only.
//
// It decides nothing about services: the hub leaves out those that the caller may not read.
// Objects that no service has are named to a caller who may list them here, by the agent's
// policy and the cluster's RBAC; the others are counted. Charts of releases go to the hub with
// a mark for those that the caller may not see, since the hub compares them. Package agent calls it when the hub asks, and nothing runs before.
//
// Invariants: it writes nothing; a report has at most 500 findings of each check; one release
// is unpacked at a time, to at most 16 MiB; a person has one report made at a time, and three
// are made together. What cannot be read
// is in the report, and never passes for ready.
package readiness
