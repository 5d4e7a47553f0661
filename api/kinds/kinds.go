// Package kinds holds two tables. All lists every kind that has a CRD, with its
// level of support. Writes lists every call that writes to the hub, with the
// kind and the field that express the same in Git. The documentation is
// generated from the tables, sdk/manifest reads the levels for its errors, and
// test/kinds compares both with the CRDs and with the API.
//
// The package does not depend on the types, which are in api/v1alpha1 and
// api/axle/v1alpha1 for the kinds that are not schema-only, and does not act on objects.
package kinds

// API groups of the kinds.
const (
	// Deployments is the group with the field names that existing repositories
	// use.
	Deployments = "deployments.plural.sh"
	// Axle is the group for what those kinds cannot express.
	Axle = "axle-cd.github.io"
	// Platform is the group of what applications bring into the clusters of agents.
	Platform = "platform.plural.sh"
)

// Level is the level of support of a kind.
type Level string

const (
	// Full means that Axle does what the object declares, except for the fields
	// in NotActing.
	Full Level = "full"
	// Stored means that an API server accepts and keeps the object, and that
	// Axle does nothing with it.
	Stored Level = "stored"
)

// Kind describes one kind.
type Kind struct {
	Group, Name string
	Level       Level
	// Says is one sentence. For a full kind it says what the object is; for
	// another kind it says what does not work.
	Says string
	// Cluster is set for kinds that belong in the cluster of an agent. The
	// others belong in the management cluster, where the operator reads those that
	// are full, or in files for axle apply.
	Cluster bool
	// SchemaOnly is set for a stored kind that is a CRD and nothing else: it has no Go
	// type, no page of its own, and its file in deploy/crds is not generated.
	SchemaOnly bool
	// NotOurs is set for a schema-only kind that no part of Axle will serve.
	NotOurs bool
	// NotActing are the paths of fields of a full kind that are kept and have no
	// effect.
	NotActing []string
}

// Unsupported returns what does not work for an object in a cluster. It is the
// message of the condition Supported, which every new object has from the CRD's
// default. It is empty for kinds that the operator or the agent reads.
func (k Kind) Unsupported() string {
	if k.Level != Full {
		return k.Says
	}
	return ""
}

// Of returns a kind, and whether the group has one with that name.
func Of(group, name string) (Kind, bool) {
	for _, k := range All {
		if k.Group == group && k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}
