package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// Of judges one object. `axle-agent health` prints its result.
func Of(object *unstructured.Unstructured) Result { return Result{Status: Unknown} }

// HasRule reports whether the kind's health can be other than "it exists", so
// that whole objects of it must be read.
func HasRule(kind schema.GroupKind) bool { return false }

// RollUp judges a service by its components: the worst of them, Healthy when
// there are none. The message names the first of the worst.
func RollUp(components []*agentv1.Component) Result { return Result{Status: Unknown} }

// Pack compresses a component list for a status and counts all components.
func Pack(components []*agentv1.Component) (blob []byte, counts *agentv1.ComponentCounts) {
	return nil, nil
}
