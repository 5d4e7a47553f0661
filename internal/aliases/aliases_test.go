package aliases_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/aliases"
)

func TestAliasesAreBounded(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for name, tt := range map[string]struct {
		text    string
		refused bool
	}{
		"a long text, often":       {"a: &a " + long + "\nb:\n" + strings.Repeat("- *a\n", 1000), true},
		"long keys, often":         {"a: &a {" + strings.Repeat(long[:1000]+": 1, ", 10) + "}\nb:\n" + strings.Repeat("- *a\n", 1000), true},
		"lists of lists":           {"a: &a [x, x, x, x, x, x, x, x]\n" + nested(), true},
		"an object with many keys": {"a: &a\n" + strings.Repeat("  k: v\n", 20_000) + "b:\n" + strings.Repeat("- *a\n", 20_000), true},
		"merged":                   {"a: &a {k: " + long + "}\n" + strings.Repeat("---\na: &a {k: "+long+"}\nb: [*a, *a, *a, *a, *a, *a, *a, *a]\n", 2), true},
		"too many elements":        {"a: [" + strings.Repeat("x,", 500_001) + "]\n", true},
		"too many lines":           {strings.Repeat("- x\n", 500_001), true},
		"many lines":               {strings.Repeat("- x\n", 100_000), false},
		"itself":                   {"a: &a [*a]\n", true},
		"a few":                    {"a: &a {k: v}\nb: *a\nc: {<<: *a}\n", false},
		"a long text twice":        {"a: &a " + long + "\nb: *a\n", false},
		"none":                     {"a: b & c\nd: '*'\n", false},
		"no YAML":                  {"a: &a [*b\n", false},
		"a hundred of a hundred":   {"a: &a " + strings.Repeat("x", 100) + "\nb:\n" + strings.Repeat("- *a\n", 100), false},
	} {
		if err := aliases.Check([]byte(tt.text)); (err != nil) != tt.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzCheck holds that a text that passes becomes as much JSON as it may, whatever its
// aliases are.
func FuzzCheck(f *testing.F) {
	for _, text := range []string{"", "a: b", "a: &a [x, x]\nb: [*a, *a]", "a: &a {<<: *a}", "a: &a [*a]", "? {a: &b c}\n: *b", strings.Repeat("- ", 200) + "x", nested(), "--- &a x\n--- *a", "a: &a " + strings.Repeat("x", 30<<10) + "\nb: [" + strings.Repeat("*a , ", 100) + "]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if aliases.Check([]byte(text)) != nil {
			return
		}
		// A byte of text may be six of JSON.
		if made, err := yaml.YAMLToJSON([]byte(text)); err == nil && len(made) > 8*max(4*len(text), 1<<20) {
			t.Errorf("%d bytes become %d", len(text), len(made))
		}
	})
}

// nested is a list of eight times the list before, ten times over.
func nested() string {
	var b strings.Builder
	for c := 'b'; c < 'l'; c++ {
		before := "*" + string(c-1)
		b.WriteString(string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat(before+" , ", 8), " , ") + " ]\n")
	}
	return b.String()
}
