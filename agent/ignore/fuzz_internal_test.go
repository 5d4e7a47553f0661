package ignore

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzFill fills any paths of any object from any other with any managed fields.
func FuzzFill(f *testing.F) {
	f.Add(`{"spec":{"replicas":1,"list":[{"name":"a","v":1}],"set":["a"]}}`, `{"spec":{"replicas":3,"list":[{"name":"a","v":2},{"name":"b"}],"set":["b"]}}`,
		`{"f:spec":{"f:replicas":{},"f:list":{".":{},"k:{\"name\":\"a\"}":{"f:v":{}}},"f:set":{"v:\"b\"":{}}}}`, `/spec/replicas`)
	f.Add(`{"a":[1,2]}`, `{"a":[[]]}`, `{"f:a":{"k:{":{},"v:{":{},"k:null":{},"i:0":{}}}`, `/a/*`)
	f.Add(`{"a":null}`, `null`, `[]`, `manager:kubectl`)
	f.Add(`{}`, `{}`, `{}`, `/a/~1~0/[name=x]/*`)
	f.Fuzz(func(t *testing.T, want, have, fields, path string) {
		var desired, live map[string]any
		if json.Unmarshal([]byte(want), &desired) != nil || json.Unmarshal([]byte(have), &live) != nil || desired == nil {
			return
		}
		managers := []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: "Update", FieldsV1: metav1.NewFieldsV1(fields)}}
		taken.Few(t, len(want)+len(have)+len(fields)+len(path), func() {
			_, _ = Fill(desired, live, managers, []string{path})
			Clear(desired, live, managers, []string{path})
		})
		if _, err := json.Marshal(desired); err != nil {
			t.Error(err)
		}
	})
}
