// Package kube is what renders and the hub need to know of the cluster: which APIs it
// serves, single objects for the lookups of templates, and the facts that are reported.
//
// It applies nothing and watches no objects of services; agent/apply and agent/drift do.
// Package agent makes one, and agent/poll, agent/configuration and agent/doctor use it.
//
// Invariants: the served kinds are read once, and again when a CRD or an APIService
// changes; a lookup is made with the service's own permit; each request has 15 s.
package kube
