// Package v1alpha1 holds the kinds of the API group platform.plural.sh: what an application
// brings along for the people who run it.
//
// Their objects live in the clusters of agents, delivered by services like any other object, and
// are read there when somebody asks, through the tunnel and with that person's rights. Nothing
// watches or reports them, so a fleet costs the hub nothing. The definitions are in the
// agent's manifests.
//
// Fields have the names that existing packages use.
//
// +groupName=platform.plural.sh
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "platform.plural.sh", Version: "v1alpha1"}
