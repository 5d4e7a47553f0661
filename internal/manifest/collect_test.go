package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/manifest"
)

func TestCollect(t *testing.T) {
	const one = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"}}`
	const two = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"two"}}`
	tests := map[string]struct {
		value string
		want  string
		fail  string
	}{
		"one":              {value: one, want: "one"},
		"list":             {value: "[" + two + "," + one + ",null]", want: "two one"},
		"by keys":          {value: `{"b":` + one + `,"a":{"x":[` + two + `]}}`, want: "two one"},
		"kind List":        {value: `{"apiVersion":"v1","kind":"List","items":[` + one + `,` + two + `]}`, want: "one two"},
		"nothing":          {value: `{"a":[],"b":null,"c":{}}`},
		"a text":           {value: `{"a":{"b":["x"]}}`, fail: "expected an object or a list of objects, got a text (at .a.b[0] of the output)"},
		"without a name":   {value: `[{"apiVersion":"v1","kind":"ConfigMap"}]`, fail: "needs metadata.name (at [0] of the output)"},
		"without a kind":   {value: `{"apiVersion":"v1"}`, fail: "needs both"},
		"number at the to": {value: `3`, fail: "got a number"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var value any
			decoder := json.NewDecoder(strings.NewReader(test.value))
			decoder.UseNumber()
			if err := decoder.Decode(&value); err != nil {
				t.Fatal(err)
			}
			objects, err := manifest.Collect("src", value)
			if test.fail != "" {
				if err == nil || !strings.Contains(err.Error(), test.fail) {
					t.Errorf("got %v, want ...%s...", err, test.fail)
				}
				return
			}
			var got []string
			for i := range objects {
				got = append(got, objects[i].Key("").Name)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); err != nil || diff != "" {
				t.Errorf("objects (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

func TestOnce(t *testing.T) {
	object := func(source, namespace string) manifest.Object {
		return manifest.Object{Source: source, Line: 3, Data: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": namespace},
		}}
	}
	if err := manifest.Once([]manifest.Object{object("x", "shop"), object("y", "")}, "other"); err != nil {
		t.Error(err)
	}
	err := manifest.Once([]manifest.Object{object("x", "shop"), object("y", "")}, "shop")
	if err == nil || err.Error() != "y:3: ConfigMap shop/a is rendered twice; the other is of x:3" {
		t.Errorf("got %v, want both places", err)
	}
}
