package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/console/stack"
)

// benchUI is one run of the bench-ui command.
type benchUI struct {
	config stack.Config
	out    string
	name   string
	progress
}

// uiResult is what web/test/bench.mjs measures.
type uiResult struct {
	Services     int     `json:"services"`
	FirstJS      float64 `json:"first_js_gz_kb"`
	FirstCSS     float64 `json:"first_css_gz_kb"`
	ColdLoad     float64 `json:"cold_load_ms"`
	ColdLoadSlow float64 `json:"cold_load_4x_ms"`
	Filter       float64 `json:"filter_ms"`
	Jump         float64 `json:"jump_ms"`
	ScrollP50    float64 `json:"scroll_p50_ms"`
	ScrollP95    float64 `json:"scroll_p95_ms"`
	Palette      float64 `json:"palette_ms"`
	Heap         float64 `json:"heap_mb"`
	DOMNodes     int     `json:"dom_nodes"`
	LongTasks    int     `json:"long_tasks"`
	LongestTask  float64 `json:"longest_task_ms"`
	PatchedNodes int     `json:"patched_nodes"`
	AxeFindings  int     `json:"axe_findings"`
	Graph        float64 `json:"graph_ms"`
	TenGraphs    float64 `json:"ten_graphs_ms"`
}

func uiCommand() *cobra.Command {
	b := benchUI{config: stack.Config{Profile: stack.Huge}}
	c := &cobra.Command{
		Use:   "bench-ui",
		Short: "Measure the console with 10,000 clusters and 100,000 services",
		Long: `Fill a hub with simulated clusters, let a real Chromium use the console, and measure
what it fetches, how long it takes and what it holds.

The command prints a table. Its last line is one JSON object. With --name it
records the result.`,
		Example: "  dev bench-ui --clusters 300 --services 3000",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			b.started = time.Now()
			return b.run(c.Context())
		},
	}
	f := c.Flags()
	f.IntVar(&b.config.Clusters, "clusters", 0, "number of clusters (default 10,000)")
	f.IntVar(&b.config.Services, "services", 0, "number of services (default 10 per cluster)")
	f.StringVar(&b.name, "name", "", "record the result under this name")
	f.StringVar(&b.out, "out", recordsFolder, "folder of the records")
	return c
}

func (b *benchUI) run(ctx context.Context) error {
	b.config.Progress = b.say
	return uiSubject.measure(ctx, b.out, b.name, b.started, b.measure)
}

func (b *benchUI) measure(ctx context.Context) (found uiResult, err error) {
	s, err := stack.Start(ctx, b.config)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	b.say("the hub is filled; Chromium begins")
	var out bytes.Buffer
	if err := s.Node(ctx, "bench.mjs", &out, os.Stderr); err != nil {
		return found, fmt.Errorf("%w\n%s", err, out.Bytes())
	}
	last := ""
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		last = lines.Text()
	}
	return found, json.Unmarshal([]byte(last), &found)
}

var uiSubject = &subject[uiResult]{
	folder: "console", values: uiValues, budgets: true,
	head: func(f uiResult) string { return fmt.Sprintf("%d services", f.Services) },
	said: func(f uiResult) string { return fmt.Sprintf("%d services", f.Services) },
	about: `
## console

Measured by ` + "`make bench-ui`" + `: a real hub on SQLite, filled through its API by simulated
clusters, which keep polling every two minutes; Debian's Chromium, headless, without a
GPU, on the same two cores. The page is the list of all services. A cold load has an
empty cache and ends with the first real row (median of five). A filter ends when its
answer is drawn (the slowest of five different ones). Scrolling moves 20 rows a frame
for 300 frames. Then 40 clusters report 100 changes a second for 5 s, of which the
rows on the screen are patched. Graphs are drawn in the gallery, from the click to the
frame that has them (median of five); their library is in no first view.

Not shown: a network; a machine with a GPU, which draws faster; pages other than the
list; Postgres.
`,
}

// uiValues are the numbers of one run.
func uiValues(f uiResult) []value {
	return []value{
		most(value{What: "JavaScript of the first view, gzip", Value: f.FirstJS, Unit: "kB"}, 210),
		most(value{What: "CSS of the first view, gzip", Value: f.FirstCSS, Unit: "kB"}, 25),
		most(value{What: "cold load to the first rows", Value: f.ColdLoad, Unit: "ms"}, 1200),
		most(value{What: "the same with a processor that is 4 × slower", Value: f.ColdLoadSlow, Unit: "ms"}, 2500),
		most(value{What: "another filter or order", Value: f.Filter, Unit: "ms"}, 300),
		most(value{What: "jump to the last row", Value: f.Jump, Unit: "ms"}, 300),
		most(value{What: "scroll, a frame, median", Value: f.ScrollP50, Unit: "ms"}, 17),
		most(value{What: "scroll, a frame, 95th percentile", Value: f.ScrollP95, Unit: "ms"}, 70),
		most(value{What: "open the palette", Value: f.Palette, Unit: "ms"}, 50),
		most(value{What: "heap", Value: f.Heap, Unit: "MB"}, 60),
		most(value{What: "DOM nodes", Value: float64(f.DOMNodes)}, 1500),
		most(value{What: "tasks above 50 ms in 5 s of 100 changes a second", Value: float64(f.LongTasks)}, 0),
		{What: "the longest of them", Value: f.LongestTask, Unit: "ms"},
		{What: "DOM changes in these 5 s", Value: float64(f.PatchedNodes)},
		most(value{What: "findings of axe", Value: float64(f.AxeFindings)}, 0),
		most(value{What: "draw a graph of 10,000 points", Value: f.Graph, Unit: "ms"}, 100),
		most(value{What: "draw ten of them at once", Value: f.TenGraphs, Unit: "ms"}, 600),
	}
}
