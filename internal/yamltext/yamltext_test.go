package yamltext_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/yamltext"
)

// texts are those that a writer of YAML may get wrong.
var texts = []string{
	"", " ", "a", "a b", "a: b", "a:b", "a:", ":", "a #b", "#a", "- a", "-", "?", "a ", " a", "true", "True", "yes", "NO", "y", "on", "null", "Null", "~", "1", "1.5", "0x1f", "1e3", ".inf", "2024-01-01",
	"12:30:45", "'", "it's", "\"a\"", "a\nb", "a\nb\n", "--port=80", "-v", "/", "/a/b: c", "-/a", "/-a", "-1", "--1", "--", "-.inf", "+.5", "/0", "-e5", "a\nb\n\n", "\na", "a\n\n b", "a\n ", "a\n \n", "a\n \nb", " a\nb", "a\n  b: c\n", "a \nb ", "\t", "a\tb", "a\n\tb", "ä", "a\nä\n", "\x00", "\u2028", "a\r\nb", "{}", "[a]", "*a", "&a", "!a", "%a", "@a", "`a", "<<", "=", "---", "...",
	"a, b", "a [b]", "a {b}", strings.Repeat("word ", 60) + "end", strings.Repeat("it's: ", 60), strings.Repeat("line of words\n", 30), "a\n---\nb", "😀", "e5", "Infinity", "NaN", "0o17", "\ufeffa", "a\u0085b",
}

// random is a value of JSON.
func random(r *rand.Rand, deep int) any {
	switch n := r.IntN(10); {
	case deep > 0 && n < 3:
		out := map[string]any{}
		for range r.IntN(5) {
			key := texts[r.IntN(len(texts))]
			if len(key) > 120 {
				key = key[:100]
			}
			out[key] = random(r, deep-1)
		}
		return out
	case deep > 0 && n < 6:
		out := []any{}
		for range r.IntN(5) {
			out = append(out, random(r, deep-1))
		}
		return out
	case n == 6:
		return []any{nil, true, false}[r.IntN(3)]
	case n == 7:
		return json.Number([]string{"0", "-1", "1.5", "1e20", "9223372036854775808", "1.0", "-0.001"}[r.IntN(7)])
	}
	return texts[r.IntN(len(texts))]
}

// Whatever is written is read again, by readers of YAML 1.1 and 1.2.
func TestWhatIsWrittenIsRead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	values := []any{map[string]any{"a": map[string]any{}, "b": []any{}, "c": []any{[]any{"x", []any{"y\nz"}}, map[string]any{"k": []any{" a\nb"}}}}}
	for _, one := range texts {
		values = append(values, map[string]any{"key": one, "list": []any{one, []any{one}, map[string]any{"in": one, "more": one}}, "deep": map[string]any{"er": map[string]any{"est": one}}})
	}
	for range 3000 {
		values = append(values, map[string]any{"top": random(r, 5)})
	}
	for _, value := range values {
		out, err := yamltext.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		for name, read := range map[string]func([]byte, any) error{"1.1": func(b []byte, v any) error { return yaml.Unmarshal(b, v) }, "1.2": func(b []byte, v any) error { return yamlv3.Unmarshal(b, v) }} {
			var got, want any
			if err := read(out, &got); err != nil {
				t.Fatalf("%s: %v in\n%s\nof %s", name, err, out, text)
			}
			if err := json.NewDecoder(bytes.NewReader(text)).Decode(&want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
				t.Fatalf("%s: %s in\n%s\nof %s", name, diff, out, text)
			}
		}
	}
}

// plain is a value with numbers that compare.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case int, uint64, int64:
		var f float64
		_, _ = fmt.Sscan(fmt.Sprint(v), &f)
		return f
	}
	return value
}

// What people read most has no quotes, and lines are lines.
func TestItReadsWell(t *testing.T) {
	out, err := yamltext.Marshal(map[string]any{
		"apiVersion": "apps/v1", "metadata": map[string]any{"name": "web", "labels": map[string]any{"app.kubernetes.io/name": "web"}},
		"spec": map[string]any{"replicas": json.Number("3"), "on": "yes", "args": []any{"--port=80", "a: b"}, "containers": []any{map[string]any{"name": "main", "image": "example.com/web:1.0"}}, "script": "set -e\necho hello\n", "none": map[string]any{}},
	})
	const want = `apiVersion: apps/v1
metadata:
  labels:
    app.kubernetes.io/name: web
  name: web
spec:
  args:
  - --port=80
  - 'a: b'
  containers:
  - image: example.com/web:1.0
    name: main
  none: {}
  "on": "yes"
  replicas: 3
  script: |
    set -e
    echo hello
`
	if diff := cmp.Diff(want, string(out)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}
