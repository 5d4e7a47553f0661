package apidocs

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/hubtest"
)

var update = flag.Bool("update", false, "write the table of the metrics anew")

const (
	metricsPage = root + "/docs/metrics.md"
	tableBegins = "<!-- every metric, written by make generate -->\n"
	tableEnds   = "<!-- end -->\n"
)

// TestMetricsPageListsEveryMetric compares the page with what the hub
// registers.
func TestMetricsPageListsEveryMetric(t *testing.T) {
	metrics, err := hubtest.New(t, hubtest.Config{}).Exported()
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, m := range metrics {
		if !strings.HasPrefix(m.Name, "go_") && !strings.HasPrefix(m.Name, "process_") {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", m.Name, strings.ReplaceAll(m.Labels, ",", ", "), m.Help))
		}
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
