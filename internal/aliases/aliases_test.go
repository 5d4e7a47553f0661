package aliases_test

import (
	"strings"
	"testing"

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

// nested is a list of eight times the list before, ten times over.
func nested() string {
	var b strings.Builder
	for c := 'b'; c < 'l'; c++ {
		before := "*" + string(c-1)
		b.WriteString(string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat(before+" , ", 8), " , ") + " ]\n")
	}
	return b.String()
}
