// Package v1alpha1 holds the kinds of the API group deployments.plural.sh that
// Axle serves, with the field names that existing repositories use. The comment
// of each field gives its meaning. Fields that are kept but do not act yet say
// so, and every object that sets one lists it in its status.
//
// The types are contracts: they do not depend on the hub, and the CLI, the
// operator and the agent all read them. CRDs in deploy/crds are generated from
// them.
//
// +kubebuilder:object:generate=true
// +groupName=deployments.plural.sh
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "deployments.plural.sh", Version: "v1alpha1"}
