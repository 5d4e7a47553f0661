// Package v1alpha1 holds the kinds of the API group deployments.plural.sh that
// Axle serves, with the field names that existing repositories use. What a
// field means is said beside it; fields that are kept but do not act yet say
// so, and every object that sets one names it in its status. How far each kind
// goes is said in api/kinds. Schema-only kinds have no type here, only a CRD.
//
// The types are contracts: they know nothing of the hub and are read by the
// CLI, the operator and the agent alike. Their CRDs in deploy/crds are generated
// from them, and so are the list of each kind, deep copies and AddToScheme
// (zz_generated.lists.go).
//
// Schemas take what the system takes that the field names come from: a field
// is optional when its tag says omitempty, references take the whole shape of
// core/v1's ObjectReference, and templates of pods and Jobs are kept as they
// are, without their schema, which would make a CRD of 60 lines one of 9,000.
//
// +groupName=deployments.plural.sh
package v1alpha1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the group and version of every kind in this package.
var GroupVersion = schema.GroupVersion{Group: "deployments.plural.sh", Version: "v1alpha1"}
