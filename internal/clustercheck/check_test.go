package clustercheck_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/clustercheck"
)

func TestChecksHoldForVariablesAndStatus(t *testing.T) {
	variables := map[string]any{"version": "v1.37.0", "pools": []any{map[string]any{"name": "a", "count": json.Number("3")}}}
	available := map[string]any{"conditions": []any{map[string]any{"type": "Available", "status": "True"}}}
	for expression, want := range map[string]struct {
		status any
		holds  bool
	}{
		`variables.version.startsWith("v1.37.")`:                                            {nil, true},
		`variables.version == "v1.36.0"`:                                                    {nil, false},
		`variables.pools.all(p, int(p.count) % 3 == 0)`:                                     {nil, true},
		`!has(status.conditions)`:                                                           {nil, true},
		`has(status.conditions) && status.conditions.exists(c, c.type == "Available")`:      {available, true},
		`has(status.conditions) && status.conditions.exists(c, c.type == "ControlPlaneUp")`: {available, false},
	} {
		check, err := clustercheck.Compile(expression)
		if err != nil {
			t.Fatal(err)
		}
		if holds, err := check.Holds(t.Context(), variables, want.status); err != nil || holds != want.holds {
			t.Errorf("%s: %v, %v", expression, holds, err)
		}
	}
}

// A short expression whose regular expression is large takes little: it is refused before it is
// compiled, and before it reads a long text.
func TestDearChecksAreRefused(t *testing.T) {
	variables := map[string]any{"large": strings.Repeat("x{1000}", 2000), "text": strings.Repeat("a", 64<<10), "name": "web-1"}
	for expression, want := range map[string]string{
		`variables.name.matches("` + strings.Repeat("x{1000}", 2000) + `")`:    "instructions",
		`matches(variables.name, variables.large)`:                             "instructions",
		`variables.name.matches("[` + strings.Repeat(`\\pL\\PL`, 1500) + `]")`: "classes of Unicode",
		`variables.text.matches("(a?){300}y")`:                                 "steps",
		`variables.name.matches("(")`:                                          "missing closing",
		`variables.name.matches("^web-[0-9]+$")`:                               "",
		`matches(variables.name, "^web-[0-9]+$")`:                              "",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		check, err := clustercheck.Compile(expression)
		if err != nil {
			t.Fatalf("%.60s: %v", expression, err)
		}
		holds, err := check.Holds(t.Context(), variables, nil)
		runtime.ReadMemStats(&after)
		if holds != (want == "") || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, %v, want %q", expression, holds, err, want)
		}
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 32 {
			t.Errorf("%.60s took %d MiB", expression, mib)
		}
	}
}

func TestExpressionsThatAreNoChecks(t *testing.T) {
	for expression, want := range map[string]string{
		"variables.":               "Syntax error",
		"secrets.all":              "undeclared reference to 'secrets'",
		"1 + 1":                    "it is int; it has to be true or false",
		strings.Repeat(" ", 17000): "at most 16 are read",
	} {
		if _, err := clustercheck.Compile(expression); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", expression, err, want)
		}
	}
	const expensive = "cost limit exceeded"
	many := make([]any, 300)
	variables := map[string]any{"many": many, "text": "x"}
	for expression, want := range map[string]string{
		"variables.absent == 1": "no such key: absent",
		"variables.text":        "it is x; it has to be true or false",
		"variables.many.all(a, variables.many.all(b, variables.many.all(c, a == b && b == c)))": expensive,
	} {
		check, err := clustercheck.Compile(expression)
		if err != nil {
			t.Fatal(err)
		}
		holds, err := check.Holds(t.Context(), variables, nil)
		if want == expensive && err != nil && strings.Contains(err.Error(), "context deadline exceeded") {
			continue // a loaded machine reaches the other bound first
		}
		if holds || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", expression, holds, err, want)
		}
	}
}
