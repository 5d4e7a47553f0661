package liquid_test

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/liquid"
)

// page documents every filter by an example and its result.
const page = "../../docs/spec/liquid-filters.md"

var update = flag.Bool("update", false, "write the results of the page's examples into it")

var (
	exampleLine = regexp.MustCompile(`^(\{[{%].*[%}]\}) => (.*)$`)
	filterName  = regexp.MustCompile(`\| *([A-Za-z]\w*)`)
)

// pageEngine has the bindings the page speaks of.
func pageEngine() *liquid.Engine {
	return liquid.New(map[string]any{
		"name": "web", "list": []any{"b", "a", "b", "", nil}, "numbers": []any{1, 2, 3},
		"lines": "one\ntwo",
		"tags":  map[string]any{"tier": "prod", "team": map[string]any{"name": "shop"}},
		"more":  map[string]any{"tier": "test", "team": map[string]any{"mail": "m"}},
		"made":  time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
	}, time.Date(2026, 11, 3, 12, 30, 0, 0, time.UTC))
}

// example is the result of a template as the page writes it.
func example(template string) string {
	out, err := pageEngine().Render([]byte(template))
	if err != nil {
		return "error: " + strings.TrimPrefix(err.Error(), "invalid template: ")
	}
	return strings.ReplaceAll(string(out), "\n", "⏎")
}

// TestEveryFilterOnThePage runs the page's examples, and holds that the filters
// that exist are those that it shows.
func TestEveryFilterOnThePage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		found := exampleLine.FindStringSubmatch(line)
		if found == nil {
			if strings.HasPrefix(line, "{{") || strings.HasPrefix(line, "{%") {
				t.Errorf("%s:%d: an example without its result", page, i+1)
			}
			continue
		}
		for _, name := range filterName.FindAllStringSubmatch(found[1], -1) {
			shown[name[1]] = true
		}
		got := example(found[1])
		if *update {
			lines[i] = found[1] + " => " + got
			continue
		}
		if got != found[2] {
			t.Errorf("%s:%d: %s\n got %s\nwant %s", page, i+1, found[1], got, found[2])
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for name := range shown {
		names = append(names, name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(liquid.Filters(), names); diff != "" {
		t.Errorf("filters that exist (-) and filters that the page shows (+):\n%s", diff)
	}
}
