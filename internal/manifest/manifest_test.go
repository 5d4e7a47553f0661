package manifest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/manifest"
)

const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

func TestDecode(t *testing.T) {
	tests := map[string]struct {
		text     string
		want     []string // "line kind name"
		warnings int
	}{
		"one":                 {text: object, want: []string{"1 ConfigMap a"}},
		"two":                 {text: object + "---\n" + strings.Replace(object, "a}", "b}", 1), want: []string{"1 ConfigMap a", "5 ConfigMap b"}},
		"empty documents":     {text: "---\n---\n# only a comment\n---\n" + object + "---\n", want: []string{"5 ConfigMap a"}},
		"marker and comment":  {text: "--- # first\n" + object + "...\n---\n" + object, want: []string{"2 ConfigMap a", "7 ConfigMap a"}},
		"windows":             {text: strings.ReplaceAll("---\n"+object+"---\n"+object, "\n", "\r\n"), want: []string{"2 ConfigMap a", "6 ConfigMap a"}},
		"byte order mark":     {text: "\ufeff" + object, want: []string{"1 ConfigMap a"}},
		"marker in a text":    {text: object + "data:\n  x: |\n    ---\n    a\n", want: []string{"1 ConfigMap a"}},
		"list":                {text: "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(object, "\n", "\n  ") + "\n", want: []string{"1 ConfigMap a"}},
		"json":                {text: `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`, want: []string{"1 Secret s"}},
		"json in a row":       {text: `{"apiVersion":"v1","kind":"A","metadata":{"name":"s"}} {"apiVersion":"v1","kind":"B","metadata":{"name":"s"}}`, want: []string{"1 A s", "1 B s"}},
		"not a manifest":      {text: "replicas: 3\nimage: x\n", warnings: 1},
		"key set twice":       {text: object + "data: {x: a}\ndata: {x: b}\n", want: []string{"1 ConfigMap a"}, warnings: 1},
		"merged and set":      {text: object + "x: &x {x: a}\ndata:\n  <<: *x\n  x: b\n", want: []string{"1 ConfigMap a"}},
		"merged, set twice":   {text: object + "x: &x {x: a}\ndata:\n  <<: *x\n  x: b\n  x: c\n", want: []string{"1 ConfigMap a"}, warnings: 1},
		"List of nothing":     {text: "apiVersion: v1\nkind: List\nitems:\n---\napiVersion: v1\nkind: List\nitems: []\n---\napiVersion: v1\nkind: List\n", warnings: 3},
		"a list of no maps":   {text: "apiVersion: v1\nkind: ConfigMapList\nitems: []\n---\napiVersion: v1\nkind: ConfigMapList\nitems:\n", warnings: 1},
		"a kind that ends so": {text: "apiVersion: example.org/v1\nkind: AllowList\nmetadata: {name: a}\nitems:\n", want: []string{"1 AllowList a"}},
		"nothing":             {text: ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects, warnings, err := manifest.Decode("a.yaml", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range objects {
				got = append(got, fmt.Sprintf("%d %s %s", o.Line, o.Key("").Kind, o.Key("").Name))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if len(warnings) != test.warnings {
				t.Errorf("warnings: %q, want %d", warnings, test.warnings)
			}
		})
	}
}

// An empty List was refused because it had no name.
func TestEmptyListsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: List\nitems: []\n":                "a.yaml:1: the List's items are empty: it has no objects",
		object + "---\napiVersion: v1\nkind: List\nitems:\n":     "a.yaml:5: the List's items are empty: it has no objects",
		`{"apiVersion":"v1","kind":"List"}`:                      "a.yaml:1: the List's items are empty: it has no objects",
		"---\n\napiVersion: v1\nkind: SecretList\nitems: null\n": "a.yaml:3: the SecretList's items are empty: it has no objects",
	} {
		if _, warnings, err := manifest.Decode("a.yaml", []byte(text)); err != nil || !slices.Equal(warnings, []string{want}) {
			t.Errorf("%q: %q, %v; want %q", text, warnings, err, want)
		}
	}
}

func TestErrorsHaveTheirPlace(t *testing.T) {
	tests := map[string]struct {
		text string
		line int
		want string
	}{
		"bad indentation":   {text: "a: b\n c: d\n", line: 2, want: "invalid YAML"},
		"in the second":     {text: object + "---\na: b\nc: d: e\n", line: 6, want: "mapping values"},
		"unclosed bracket":  {text: object + "data: [a\n", line: 4, want: "invalid YAML"},
		"unclosed, then on": {text: object + "data: [a\nb: c\n", line: 5, want: "invalid YAML"},
		"in braces":         {text: object + "data: {a: b: c}\nx: y\n", line: 4, want: "invalid YAML"},
		"noticed later":     {text: object + "data:\n- a\nb\nc: d\n", line: 7, want: "invalid YAML"},
		"unclosed quote":    {text: object + "data: 'x\n", line: 4, want: "invalid YAML"},
		"first line":        {text: "a: b: c\n", line: 1, want: "invalid YAML"},
		"tab":               {text: object + "data:\n\tx: y\n", line: 5, want: "invalid YAML"},
		"no kind":           {text: "---\n\napiVersion: v1\n", line: 3, want: "needs both apiVersion and kind"},
		"a number as name":  {text: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 20240101}\n", line: 1, want: "metadata.name of the ConfigMap must be text: write it in quotes"},
		"no name":           {text: "apiVersion: v1\nkind: ConfigMap\n", line: 1, want: "the ConfigMap needs metadata.name"},
		"items of a text":   {text: "apiVersion: v1\nkind: List\nitems: none\n", line: 1, want: "the List's items must be a list of objects"},
		"text":              {text: object + "---\njust text\n", line: 5, want: "not an object"},
		"a list of objects": {text: "- " + strings.ReplaceAll(object, "\n", "\n  "), line: 1, want: "not an object"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := manifest.Decode("deploy/a.yaml", []byte(test.text))
			var bad *manifest.Error
			if !errors.As(err, &bad) || bad.File != "deploy/a.yaml" || !strings.Contains(bad.Message, test.want) {
				t.Fatalf("got %v, want ...%s...", err, test.want)
			}
			if bad.Line != test.line {
				t.Errorf("got line %d, want %d: %v", bad.Line, test.line, err)
			}
		})
	}
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	objects, _, err := manifest.Decode("a.yaml", []byte(object+"data:\n  big: 9007199254740993\n  mega: 1000000\n  mode: 0644\n"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := objects[0].JSON()
	if err != nil {
		t.Fatal(err)
	}
	if want := `"data":{"big":9007199254740993,"mega":1000000,"mode":420}`; !strings.Contains(string(text), want) {
		t.Errorf("got %s, want %s in it", text, want)
	}
}

// FuzzDecode decodes any input: it never panics, and every result is an object that
// encodes, and decodes to itself.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(object + "---\n" + object))
	f.Add([]byte("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{}]}"))
	f.Add([]byte("a: &a [*a]\n...\n--- |\n x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, _, err := manifest.Decode("a.yaml", text)
		if err != nil {
			return
		}
		for _, o := range objects {
			encoded, err := o.JSON()
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := manifest.Decode("a.json", encoded)
			if err != nil || len(again) != 1 {
				t.Fatalf("%s decodes to %d objects, %v", encoded, len(again), err)
			}
			if diff := cmp.Diff(o.Data, again[0].Data, cmp.Comparer(func(a, b json.Number) bool { return a == b })); diff != "" {
				t.Errorf("decoded again:\n%s", diff)
			}
		}
	})
}
