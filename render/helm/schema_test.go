package helm_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/render/helm"
)

// Schemas of many charts refer to Kubernetes' own at another server. What is there is left
// out, and the rest still counts.
func TestSchemasOfOtherServersAreLeftOut(t *testing.T) {
	for name, test := range map[string]struct {
		schema, warning, fails string
	}{
		"all of it":              {schema: `{"$ref": "http://127.0.0.1:1/schema.json"}`, warning: "http://127.0.0.1:1/schema.json"},
		"one field":              {schema: `{"properties": {"pod": {"$ref": "https://example.com/k8s.json#/definitions/Pod"}}}`, warning: "https://example.com/k8s.json"},
		"the rest counts":        {schema: `{"properties": {"pod": {"$ref": "https://example.com/k8s.json#/definitions/Pod"}, "count": {"type": "string"}}}`, fails: "count"},
		"beside a definition":    {schema: `{"$ref": "https://example.com/a.json", "definitions": {"n": {"type": "string"}}, "allOf": [{"$ref": "#/definitions/n"}]}`, warning: "https://example.com/a.json"},
		"a definition is used":   {schema: `{"properties": {"count": {"$ref": "#/definitions/n"}}, "definitions": {"n": {"type": "string"}}}`, fails: "count"},
		"its own address":        {schema: `{"$id": "https://example.com/values.json", "properties": {"count": {"$ref": "https://example.com/values.json#/definitions/n"}}, "definitions": {"n": {"type": "string"}}}`, fails: "count"},
		"the schema of schemas":  {schema: `{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"pod": {"$ref": "http://json-schema.org/draft-07/schema#"}}}`},
		"a property of the name": {schema: `{"properties": {"$ref": {"type": "string"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := helm.Render(t.Context(), request(t, map[string]string{"values.schema.json": test.schema, "values.yaml": "count: 1\npod: {}\n", "templates/a.yaml": settings}))
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("it renders: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(result.Warnings, "\n"); (test.warning == "") != (got == "") || !strings.Contains(got, test.warning) {
				t.Errorf("warnings: %q", got)
			}
		})
	}
}
