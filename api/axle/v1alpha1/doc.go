// Package v1alpha1 holds the kinds of the API group axle-cd.github.io: what the
// hub's API can write and no kind of the group deployments.plural.sh can say.
// docs/spec/writes.md lists which call each field stands for.
//
// All kinds are namespaced, so that the credentials of a namespace decide what
// its objects may do. They name things of the hub (projects, clusters, groups,
// users, repositories) by their names there, as texts, and let the hub decide
// by whose credentials the object acts; Secrets are named in their own
// namespace only.
//
// The types are contracts: they know nothing of the hub. Whoever calls them is
// the operator; docs/spec/kinds is made from them.
//
// +groupName=axle-cd.github.io
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "axle-cd.github.io", Version: "v1alpha1"}
