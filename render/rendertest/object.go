package rendertest

import (
	"encoding/json"
	"testing"

	renderv1 "github.com/axle-cd/axle/api/render/v1"
)

// Object is the part of a rendered object that tests check.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Data map[string]string `json:"data"`
	Spec map[string]any    `json:"spec"`
}

// Decode decodes a rendered object.
func Decode(t *testing.T, o *renderv1.Object) Object {
	t.Helper()
	var out Object
	if err := json.Unmarshal(o.GetJson(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
