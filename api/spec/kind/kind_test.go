package kind_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/api/spec/convert/converttest"
	"github.com/axle-cd/axle/api/spec/kind"
	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
)

// elsewhere are the fields of a ServiceDeployment that its spec does not have, with what
// becomes of each.
var elsewhere = map[string]string{
	"name":                    "the service's name, beside the spec",
	"cluster":                 "the service's cluster, beside the spec",
	"clusterRef":              "the same",
	"projectRef":              "the service's project, beside the spec",
	"configurationRef":        "its Secret is read into secrets",
	"helm.repository":         "helm.repositoryRef wins",
	"sourceRef":               "package manifest reads the source, and sets the repository",
	"sources.sourceRef":       "the same",
	"agentId":                 "has no effect yet",
	"paused":                  "has no effect yet",
	"pinnedRevision":          "has no effect yet",
	"bindings":                "has no effect yet",
	"flowRef":                 "has no effect yet",
	"reconciliation":          "has no effect yet",
	"helm.valuesFrom":         "package manifest reads the Secret, into the secrets",
	"helm.valuesConfigMapRef": "package manifest reads the ConfigMap, into the values",
}

func TestEveryFieldOfAServiceDeploymentIsConverted(t *testing.T) {
	lost := converttest.Lost(func(in *v1alpha1.ServiceDeploymentSpec) string {
		spec, err := kind.Spec(*in)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}, v1alpha1.ObjectReference{}, v1alpha1.NamespacedName{})
	if diff := cmp.Diff(slices.Sorted(maps.Keys(elsewhere)), lost); diff != "" {
		t.Errorf("fields that the spec does not have (-listed +found):\n%s", diff)
	}
}

// without are the fields of a spec that no ServiceDeployment sets, with the reason.
var without = map[string]string{
	"secrets":                            "configurationRef names a Secret instead",
	"helm.chartPath":                     "the hub sets it, for agents",
	"syncWindows.level":                  "the hub sets it, for agents",
	"renderers.helm.chartPath":           "nobody sets it",
	"renderers.helm.url":                 "has no effect in a renderer, which renders files of the service",
	"renderers.helm.chart":               "the same",
	"renderers.helm.version":             "the same",
	"renderers.helm.repository":          "the same",
	"renderers.helm.git":                 "the same",
	"renderers.helm.ignoreCrds":          "no field yet",
	"renderers.helm.luaScript":           "no field yet",
	"renderers.helm.luaFile":             "no field yet",
	"renderers.helm.luaFolder":           "no field yet",
	"renderers.helm.upgrade":             "no field yet",
	"renderers.helm.kustomizePostrender": "renderers.kustomizePostrender does it",
}

func TestEveryFieldOfASpecIsInTheKind(t *testing.T) {
	var object v1alpha1.ServiceDeploymentSpec
	converttest.Fill(&object)
	spec, err := kind.Spec(object)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(without)), converttest.Unset(spec)); diff != "" {
		t.Errorf("fields that no ServiceDeployment sets (-listed +found):\n%s", diff)
	}
}

// TestDeclaredIsTheInverseOfSpec converts a spec with all fields there and back.
func TestDeclaredIsTheInverseOfSpec(t *testing.T) {
	var spec specv1.Spec
	converttest.Fill(&spec)
	back, err := kind.Spec(kind.Declared(spec))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(without)), converttest.Unset(back)); diff != "" {
		t.Errorf("fields that are lost (-listed +found):\n%s", diff)
	}
	for _, values := range []string{"a: 1\nb:\n  c: text\n", "# why\na: 1\n", "b: 1\na: 2\n", "- a\n", "big: 12345678901234567890\n", "{{ not: yaml", "\"quoted\""} {
		spec := specv1.Spec{Helm: &specv1.Helm{Values: values}}
		back, err := kind.Spec(kind.Declared(spec))
		if err != nil || back.Helm.Values != values {
			t.Errorf("the values %q become %q: %v", values, back.Helm.Values, err)
		}
	}
}
