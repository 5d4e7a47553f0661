package promql_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/axle-cd/axle/internal/promql"
)

// dear are queries whose parsing takes seconds and hundreds of MiB, or the whole stack.
var dear = map[string]string{
	"repetitions":             `up{a=~"` + strings.Repeat("x{1000}", 2000) + `"}`,
	"many matchers":           `up{` + strings.Repeat(`a=~"x{900}",`, 1000) + `}`,
	"many selectors":          strings.Repeat(`up{a!~'x{900}'} + `, 800) + "1",
	"raw strings":             "up{a=~`" + strings.Repeat("x{1000}", 2000) + "`}",
	"behind a comment":        "up{a=~ # \"x\"\n \"" + strings.Repeat("x{1000}", 2000) + "\"}",
	"escaped":                 `up{a=~"` + strings.Repeat(`\x78{1000}`, 1000) + `"}`,
	"a quoted name":           `{"up", "a"=~"` + strings.Repeat("x{1000}", 2000) + `"}`,
	"no expression by itself": `up{a=~"a)` + strings.Repeat("x{1000}", 2000) + `(b"}`,
	"classes of Unicode":      `up{a=~"[` + strings.Repeat(`\\pL\\PL`, 1500) + `]"}`,
	"in a subquery":           `max_over_time(rate(up{a=~"` + strings.Repeat("x{1000}", 100) + `"}[5m])[1h:1m])`,
	"brackets":                strings.Repeat("(", 5000) + "up" + strings.Repeat(")", 5000),
	"signs":                   strings.Repeat("- ", 5000) + "up",
	"an error behind it":      `up{a=~"` + strings.Repeat("x{1000}", 1900) + `"} ?`,
}

// TestDearQueriesAreRefused holds that no query is parsed whose regular expressions are large.
func TestDearQueriesAreRefused(t *testing.T) {
	for name, query := range dear {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := promql.Parse(query)
		_, other := promql.ParseSelector(query)
		runtime.ReadMemStats(&after)
		if err == nil || other == nil {
			t.Errorf("%s: %v, %v", name, err, other)
		}
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 8 {
			t.Errorf("%s took %d MiB: %v", name, mib, err)
		}
	}
	if _, _, err := promql.Matcher(labels.MatchRegexp, "a", strings.Repeat("x{1000}", 100)); err == nil {
		t.Error("a matcher is made of a large expression")
	}
}

// TestQueriesAreParsedAsByPrometheus holds that what is cheap is parsed, and what is wrong has the
// words of the parser.
func TestQueriesAreParsedAsByPrometheus(t *testing.T) {
	for _, query := range []string{
		`up`, `sum by (pod) (rate(http_requests_total{job=~"web|api", code!~"5.."}[5m])) / 2`, `{"utf8.name", "a.b"=~"x{10}"}`,
		`up{pod=~"` + strings.Repeat("web-5d4f8c7b9-abcde|", 100) + `x"}`, `label_replace(up, "a", "$1", "b", "(.*)")`, `up{a=~"a)(b"}`, `up{a=~"("}`, `up{`, `1 +`, `up{a=~"[а-яА-Я]+"}`,
	} {
		got, err := promql.Parse(query)
		want, problem := parser.ParseExpr(query)
		if (err == nil) != (problem == nil) || err != nil && err.Error() != problem.Error() || err == nil && got.String() != want.String() {
			t.Errorf("%s: %v, %v; the parser: %v, %v", query, got, err, want, problem)
		}
	}
	if m, size, err := promql.Matcher(labels.MatchRegexp, "a", "x{10}"); err != nil || size < 10 || !m.Matches("xxxxxxxxxx") {
		t.Errorf("%v, %d, %v", m, size, err)
	}
}

// FuzzParse holds that a query takes little, whatever it is.
func FuzzParse(f *testing.F) {
	for _, query := range dear {
		f.Add(query)
	}
	f.Add(`sum by (pod) (rate(up{job=~"web|api"}[5m]))`)
	f.Fuzz(func(t *testing.T, query string) {
		expression, err := promql.Parse(query)
		if err != nil {
			return
		}
		if size, err := promql.Measure(query); err != nil || size > promql.MaxPrograms {
			t.Errorf("%q was parsed: %d, %v", query, size, err)
		}
		// What was not measured is in no matcher.
		parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
			if s, is := node.(*parser.VectorSelector); is {
				for _, m := range s.LabelMatchers {
					if _, size, err := promql.Matcher(m.Type, m.Name, m.Value); err != nil || size > promql.MaxPrograms {
						t.Errorf("%q has %s, of %d: %v", query, m, size, err)
					}
				}
			}
			return nil
		})
	})
}
