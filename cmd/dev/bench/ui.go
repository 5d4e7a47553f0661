package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/console/stack"
)

// benchUI is one run of the bench-ui command.
type benchUI struct {
	config stack.Config
	only   string
	measurement
}

// The parts of bench-ui.
const (
	uiList    = "list"
	uiObserve = "observe"
)

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
}

// drawing is what some graphs cost: by the clock, and of the page's main thread.
type drawing struct {
	First    float64 `json:"first_ms"`
	FirstCPU float64 `json:"first_cpu_ms"`
	Again    float64 `json:"again_ms"`
	AgainCPU float64 `json:"again_cpu_ms"`
	// Canvas is the reference: the same points as bare lines.
	Canvas    float64 `json:"canvas_ms"`
	CanvasCPU float64 `json:"canvas_cpu_ms"`
	Points    int     `json:"points"`
}

// observeResult is what web/test/bench-observe.mjs measures.
type observeResult struct {
	InFirstView int     `json:"chart_in_first_view"`
	One         drawing `json:"one_graph"`
	Ten         drawing `json:"ten_graphs"`
	TailRate    float64 `json:"tail_lines_s"`
	// Tasks above 50 ms, by the clock, and of them those that computed for so long.
	LongTasks      int     `json:"tail_long_tasks"`
	LongTasksCPU   int     `json:"tail_long_tasks_cpu"`
	LongestTask    float64 `json:"tail_longest_task_ms"`
	LongestTaskCPU float64 `json:"tail_longest_task_cpu_ms"`
	// TailCPU is of the main thread, in a second of the log.
	TailCPU float64 `json:"tail_cpu_ms_s"`
}

func uiCommand() *cobra.Command {
	b := benchUI{config: stack.Config{Profile: stack.Huge}}
	c := &cobra.Command{
		Use:   "bench-ui",
		Short: "Measure the console with 10,000 clusters and 100,000 services, its graphs and its live logs",
		Long: `Let a real Chromium use the console, and measure what it fetches, how long it takes
and what it holds: the list of services of a hub that is filled with simulated
clusters, then graphs and live logs of a real cluster with its Prometheus.

The command prints a table for each part. The last line of each is one JSON object.
With --name it records the results.`,
		Example: "  dev bench-ui --clusters 300 --services 3000\n  dev bench-ui --only observe",
	}
	f := c.Flags()
	f.IntVar(&b.config.Clusters, "clusters", 0, "number of clusters (default 10,000)")
	f.IntVar(&b.config.Services, "services", 0, "number of services (default 10 per cluster)")
	f.StringVar(&b.only, "only", "", "measure one part: "+uiList+" or "+uiObserve)
	b.flags(c, b.run)
	return c
}

func (b *benchUI) run(ctx context.Context) error {
	b.config.Progress = b.say
	switch b.only {
	case "", uiList, uiObserve:
	default:
		return fmt.Errorf("--only: %q is no part; there are %s and %s", b.only, uiList, uiObserve)
	}
	if b.only != uiObserve {
		if err := uiSubject.measure(ctx, &b.measurement, func(ctx context.Context) (found uiResult, err error) {
			return found, b.play(ctx, b.config, "bench.mjs", &found)
		}); err != nil {
			return err
		}
	}
	if b.only == uiList {
		return nil
	}
	return observeSubject.measure(ctx, &b.measurement, func(ctx context.Context) (found observeResult, err error) {
		return found, b.play(ctx, stack.Config{Profile: stack.Real, Progress: b.say}, "bench-observe.mjs", &found)
	})
}

// play runs a script on a stack, and reads the last line that it prints.
func (b *benchUI) play(ctx context.Context, config stack.Config, script string, found any) (err error) {
	s, err := stack.Start(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	b.say("the stack is there; Chromium begins")
	var out bytes.Buffer
	if err := s.Node(ctx, script, &out, os.Stderr); err != nil {
		return fmt.Errorf("%w\n%s", err, out.Bytes())
	}
	last := ""
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		last = lines.Text()
	}
	return json.Unmarshal([]byte(last), found)
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
rows on the screen are patched.

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
	}
}

var observeSubject = &subject[observeResult]{
	folder: "console-observe", values: observeValues, budgets: true,
	head: func(f observeResult) string {
		return fmt.Sprintf("%d and %d points, %.0f lines a second", f.One.Points, f.Ten.Points, f.TailRate)
	},
	said: func(f observeResult) string { return "graphs and live logs" },
	about: `
## console-observe

The second part of ` + "`make bench-ui`" + `, alone by ` + "`ONLY=observe`" + `: a real hub, a real API server
with a process kubelet, the agent and a real Prometheus; Debian's Chromium, headless,
without a GPU, all on the same two cores. Graphs are those of a Dashboard in the cluster,
with 40 lines each, computed by Prometheus. The clock begins when the hub's answer has
arrived in the page and ends when the frame with the last graph is painted, so it has
decoding, legend and table in it (median of five). What the page's main thread computed
meanwhile is beside it: other work on the machine lengthens the first and not the second.
The reference draws equal points as bare lines on canvases of the same size, in the same
page. The live log is that of a workload with four pods, for 10 s while it grows and for
10 s after more lines came than are kept. On a machine that has other work,
` + "`chrt -r 1 bin/dev bench-ui --only observe`" + ` gets the processors first, as in this record.

Not shown: a network; a machine with a GPU; the time of Prometheus and of the hub.
`,
}

// observeValues are the numbers of one run.
func observeValues(f observeResult) []value {
	all := []value{most(value{What: "scripts with the chart library that first views load", Value: float64(f.InFirstView)}, 0)}
	for _, d := range []struct {
		what   string
		budget float64
		drawing
	}{{"a graph of 10,000 points", 100, f.One}, {"ten of them", 600, f.Ten}} {
		all = append(all,
			most(value{What: "draw " + d.what, Value: d.First, Unit: "ms"}, d.budget),
			most(value{What: "the same, of the main thread", Value: d.FirstCPU, Unit: "ms"}, d.budget),
			value{What: "the same, by that of bare lines", Value: d.FirstCPU / d.CanvasCPU, Unit: "×"},
			most(value{What: "draw another range of " + d.what, Value: d.Again, Unit: "ms"}, d.budget),
			most(value{What: "the same, of the main thread", Value: d.AgainCPU, Unit: "ms"}, d.budget),
			value{What: "bare lines of the same points on canvas, of the main thread", Value: d.CanvasCPU, Unit: "ms"},
		)
	}
	return append(all,
		value{What: "live log of four pods, lines a second", Value: f.TailRate, Budget: new(2000.0), Floor: true},
		most(value{What: "tasks above 50 ms in 20 s of it", Value: float64(f.LongTasks)}, 0),
		most(value{What: "tasks that computed for more than 50 ms", Value: float64(f.LongTasksCPU)}, 0),
		value{What: "the longest task", Value: f.LongestTask, Unit: "ms"},
		value{What: "the longest task, computing", Value: f.LongestTaskCPU, Unit: "ms"},
		value{What: "main thread in a second of it", Value: f.TailCPU, Unit: "ms"},
	)
}
