package clusterapi_test

import (
	"encoding/json"
	"fmt"
	"runtime"
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

// A schema of a few KiB takes no time and memory that its length does not show: it is refused
// before its expressions are compiled, its references followed or its numbers computed.
func TestADearSchemaIsRefused(t *testing.T) {
	chain := map[string]any{"d40": map[string]any{"type": "string"}}
	for i := range 40 {
		next := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i+1)}
		chain[fmt.Sprint("d", i)] = map[string]any{"allOf": []any{next, next}}
	}
	with := func(region string, defs map[string]any) string {
		if defs == nil {
			defs = map[string]any{}
		}
		text, err := json.Marshal(defs)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Replace(strings.Replace(folder(nil)["schema.json"], `{"type": "string"}`, region, 1), `{`, `{"$defs": `+string(text)+`, `, 1)
	}
	for name, c := range map[string]struct{ schema, want string }{
		"a large expression":    {with(`{"pattern": "`+strings.Repeat("x{1000}", 2000)+`"}`, nil), "instructions"},
		"many expressions":      {with(`{"allOf": [`+strings.Repeat(`{"pattern": "x{900}"}, `, 100)+`{}]}`, nil), "instructions"},
		"names of properties":   {with(`{"patternProperties": {"`+strings.Repeat("x{1000}", 2000)+`": {}}}`, nil), "instructions"},
		"classes of Unicode":    {with(`{"pattern": "[`+strings.Repeat(`\\pL\\PL`, 1500)+`]"}`, nil), "classes of Unicode"},
		"references to two":     {with(`{"$ref": "#/$defs/d0"}`, chain), "more than 10000 schemas"},
		"a reference to itself": {with(`{"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/properties/note"}}]}`, nil), "refers to itself"},
		"a dynamic reference":   {with(`{"$dynamicRef": "#/$defs/a"}`, map[string]any{"a": map[string]any{}}), "dynamic reference"},
		"a number of zeros":     {with(`{"type": "number", "minimum": 1e1000000}`, nil), "is too long"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := clusterapi.Read(folder(map[string]string{"schema.json": c.schema}), allowed)
		runtime.ReadMemStats(&after)
		if !errcode.Is(err, errcode.Unprocessable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 64 {
			t.Errorf("%s took %d MiB", name, mib)
		}
	}
	schema := with(`{"type": "array", "items": {"allOf": [`+strings.Repeat("{}, ", 500)+`{}]}}`, nil)
	template, err := clusterapi.Read(folder(map[string]string{"schema.json": schema}), allowed)
	if err != nil {
		t.Fatal(err)
	}
	for want, values := range map[string]string{"too many to check": strings.Repeat("1, ", 10_000) + "1", "is too long": strings.Repeat("1e1000000, ", 1000) + "1", "exponents": "1e-99999999999999999999"} {
		_, err := template.Compose(t.Context(), clusterapi.Wish{Name: "a", Variables: `{"region": "eu", "note": [` + values + `]}`})
		if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A long default in each of many node pools makes no cluster of hundreds of MiB.
func TestDefaultsMakeNothingLarge(t *testing.T) {
	schema := strings.Replace(folder(nil)["schema.json"], `"name": {"type": "string"}`, `"name": {"type": "string", "default": "`+strings.Repeat("x", 30_000)+`"}`, 1)
	template, err := clusterapi.Read(folder(map[string]string{"schema.json": schema}), allowed)
	if err != nil {
		t.Fatal(err)
	}
	wish := clusterapi.Wish{Name: "a", Variables: `{"region": "eu", "nodePools": [` + strings.Repeat("{}, ", 10_000) + `{}]}`}
	if _, err = template.Compose(t.Context(), wish); !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "with the defaults of the template") {
		t.Errorf("%v", err)
	}
	if bytes := taken.By(func() { _, _ = template.Compose(t.Context(), wish) }); bytes > 32<<20 {
		t.Errorf("it takes %d MiB", bytes>>20)
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
