package clusterapi_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/clusterapi"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/taken"
)

// nested is JSON that is nested more deeply than is decoded.
func nested(field string) string {
	return strings.Repeat(`{"`+field+`":`, 101) + "{}" + strings.Repeat("}", 101)
}

// laughs is YAML of 20 KiB, which its aliases make a hundred times as large.
func laughs() string {
	return "a: &a " + strings.Repeat("x", 20<<10) + "\nb: [" + strings.Repeat("*a, ", 99) + "*a]\n"
}

// Whoever commits to the repository of a template writes its files, and the hub reads them
// in its own process.
func TestATemplateThatIsABomb(t *testing.T) {
	for want, changed := range map[string]map[string]string{
		"schema.json: is not JSON: it is larger in memory than is allowed": {"schema.json": strings.Replace(folder(nil)["schema.json"], `{"type": "string"}`, nested("not"), 1)},
		"template.yaml: its aliases make the YAML larger":                  {"template.yaml": "name: play\n" + laughs()},
		"class/more.yaml: its aliases make the YAML larger":                {"class/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + laughs()},
	} {
		if _, err := clusterapi.Read(folder(changed), allowed); !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestVariablesThatAreABomb(t *testing.T) {
	template, err := clusterapi.Read(folder(nil), allowed)
	if err != nil {
		t.Fatal(err)
	}
	for want, w := range map[string]clusterapi.Wish{
		"variables: it is larger in memory than is allowed":           {Name: "a", Variables: `{"region": "eu", "nodePools": ` + nested("a") + `}`},
		"variables.nodePools: it is larger in memory than is allowed": {Name: "a", Texts: map[string]string{"region": "eu", "nodePools": nested("a")}},
	} {
		if _, err := template.Compose(t.Context(), w); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// FuzzTemplate reads any text as each file of a template, and as the variables of a cluster:
// what a repository and a caller write.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{"", "{}", "name: play", laughs(), nested("not"), `{"type": "object", "properties": {"a": {"$ref": "#"}}}`, `{"type": "object", "additionalProperties": {"pattern": "(a+)+$"}}`, `{"region": "eu", "nodePools": [{}]}`, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", strings.Repeat("[", 300)} {
		f.Add(text)
	}
	template, err := clusterapi.Read(folder(nil), allowed)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"template.yaml", "schema.json", "class/more.yaml"} {
			if bytes := taken.By(func() { _, _ = clusterapi.Read(folder(map[string]string{name: text}), allowed) }); bytes > 64<<20+2048*len(text) {
				t.Errorf("%s: %d bytes take %d", name, len(text), bytes)
			}
		}
		if bytes := taken.By(func() { _, _ = template.Compose(t.Context(), clusterapi.Wish{Name: "a", Variables: text}) }); bytes > 64<<20+2048*len(text) {
			t.Errorf("variables: %d bytes take %d", len(text), bytes)
		}
	})
}
