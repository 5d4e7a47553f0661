package hub_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/hub/hubtest"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

var described = regexp.MustCompile(`fqName: "([^"]+)", help: "([^"]*)", .*variableLabels: \{([^}]*)\}`)

const metricsPage = "../docs/metrics.md"

const (
	tableBegins = "<!-- every metric, written by make generate -->\n"
	tableEnds   = "<!-- end -->\n"
)

// TestMetricsPageListsEveryMetric compares the page with what the hub
// registers.
func TestMetricsPageListsEveryMetric(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	descriptions := make(chan *prometheus.Desc)
	go func() {
		h.Metrics().Describe(descriptions)
		close(descriptions)
	}()
	var rows []string
	for d := range descriptions {
		m := described.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("a metric that cannot be read: %s", d)
		}
		if strings.HasPrefix(m[1], "go_") || strings.HasPrefix(m[1], "process_") {
			continue
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", m[1], strings.ReplaceAll(m[3], ",", ", "), m[2]))
	}
	slices.Sort(rows)
	if len(rows) < 10 {
		t.Fatalf("only %d metrics", len(rows))
	}
	want := "| metric | labels | meaning |\n|---|---|---|\n" + strings.Join(slices.Compact(rows), "")
	raw, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), tableBegins)
	got, after, ended := strings.Cut(rest, tableEnds)
	if !found || !ended {
		t.Fatalf("%s has no table between its marks", metricsPage)
	}
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("%s lists other metrics than the hub has; run make generate\n%s", metricsPage, want)
	}
	if err := os.WriteFile(metricsPage, []byte(before+tableBegins+want+tableEnds+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
