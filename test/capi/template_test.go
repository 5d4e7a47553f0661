package capi_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// The schema that people see, and the one that the webhooks of the core hold a variable
// against, are the same where both have it; the others are fields of the topology.
func TestVariablesOfTheTemplateAreThoseOfItsClass(t *testing.T) {
	t.Parallel()
	type schema struct {
		Type    string   `json:"type"`
		Enum    []string `json:"enum"`
		Default any      `json:"default"`
	}
	var shown struct {
		Properties map[string]schema `json:"properties"`
	}
	var class struct {
		Spec struct {
			Variables []struct {
				Name   string `json:"name"`
				Schema struct {
					OpenAPI schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"variables"`
			Patches []struct {
				Name string `json:"name"`
			} `json:"patches"`
		} `json:"spec"`
	}
	read(t, "../../deploy/bed/schema.json", json.Unmarshal, &shown)
	read(t, "../../deploy/bed/class/clusterclass.yaml", func(text []byte, into any) error { return yaml.Unmarshal(text, into) }, &class)
	topology := []string{"version", "nodePools"}
	if len(shown.Properties) != len(class.Spec.Variables)+len(topology) {
		t.Errorf("%d properties for %d variables", len(shown.Properties), len(class.Spec.Variables))
	}
	for i, v := range class.Spec.Variables {
		if have := shown.Properties[v.Name]; !reflect.DeepEqual(have, v.Schema.OpenAPI) {
			t.Errorf("%s is %v in schema.json and %v in the class", v.Name, have, v.Schema.OpenAPI)
		}
		if slices.Contains(topology, v.Name) || class.Spec.Patches[i].Name != v.Name {
			t.Errorf("no patch places the variable %s", v.Name)
		}
	}
}

func read(t *testing.T, file string, decode func([]byte, any) error, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = decode(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
