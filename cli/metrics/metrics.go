// Package metrics is the command axle metrics: queries about the metrics of clusters, through
// the hub, and the stores that they are in. cli puts it into the tree of commands.
package metrics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/dashboard"
	"github.com/axle-cd/axle/internal/rule"
	"github.com/axle-cd/axle/sdk"
)

// Command returns the command axle metrics.
func Command(a *command.App) *cobra.Command {
	return command.Noun("metrics", "Query the metrics of clusters, and list the stores of their metrics, logs and alerts", []string{"metric"}, queryCommand(a), sourcesCommand(a), dashboardsCommand(a), checkCommand(a))
}

// resultView is an answer as -o json and -o yaml show it.
type resultView struct {
	Cluster    string       `json:"cluster"`
	Source     string       `json:"source"`
	Query      string       `json:"query"`
	ResultType string       `json:"resultType"`
	Start      string       `json:"start,omitempty"`
	End        string       `json:"end,omitempty"`
	Step       string       `json:"step,omitempty"`
	Series     []seriesView `json:"series"`
	Text       string       `json:"text,omitempty"`
	SeriesCut  int32        `json:"seriesCut"`
	Notices    []string     `json:"notices"`
	Namespaces []string     `json:"namespaces"`
	All        bool         `json:"allNamespaces"`
	NewestAt   string       `json:"newestAt,omitempty"`
	Samples    int64        `json:"samples"`
	Bytes      int64        `json:"bytes"`
}

type seriesView struct {
	Labels map[string]string `json:"labels"`
	Points []pointView       `json:"points"`
}

type pointView struct {
	At string `json:"at"`
	// Value is a text, as JSON has no NaN and no infinity.
	Value string `json:"value"`
}

// row is a line of a table: a series, or a point of one.
type row struct{ series, at, value string }

func queryCommand(a *command.App) *cobra.Command {
	var request hubv1.QueryMetricsRequest
	var since, start, end, step, at string
	c := &cobra.Command{
		Use: "query CLUSTER PROMQL", Short: "Evaluate PromQL on the metrics of a cluster", Args: command.Exactly(2),
		Long: `Evaluate PromQL on the metrics of a cluster, now, at a time, or over a range with --since or
--start. The query is limited to the namespaces in which the cluster lets you read the logs of
pods. A range is answered as a line for each series, with its last value; csv and json have
all points.`,
		Example: `  axle metrics query edge-1 'sum by (namespace) (rate(container_cpu_usage_seconds_total[5m]))'
  axle metrics query edge-1 'kube_pod_container_status_restarts_total > 0' --since 6h --step 5m -o csv
  axle metrics query edge-1 up --start 2026-01-31T08:00:00Z --end 2026-01-31T09:00:00Z -o json`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Cluster, request.Query = args[0], args[1]
			if err := within(&request, since, start, end, step, at); err != nil {
				return err
			}
			answer, err := client.Metrics.Query(c.Context(), connect.NewRequest(&request))
			if err != nil {
				return err
			}
			return show(a, request.GetCluster(), answer.Msg)
		}),
	}
	flags := c.Flags()
	flags.StringVar(&request.Source, "source", "", "name of the store, if the cluster has several; axle metrics sources shows them")
	flags.StringVar(&since, "since", "", "the range from a duration ago, such as 6h or 7d, until now")
	flags.StringVar(&start, "start", "", "beginning of the range, such as 2026-01-31T08:00:00Z")
	flags.StringVar(&end, "end", "", "end of the range (default: now)")
	flags.StringVar(&step, "step", "", "distance of the points of the range, such as 30s (default: about 250 points)")
	flags.StringVar(&at, "time", "", "time of a query without a range (default: now)")
	flags.BoolVar(&request.Raw, "raw", false, "refuse the query in place of limiting it, if you do not see the whole cluster")
	return c
}

// within puts the times of flags into a request.
func within(request *hubv1.QueryMetricsRequest, since, start, end, step, at string) error {
	for name, pair := range map[string][2]string{"--since and --start": {since, start}, "--time and --since": {at, since}, "--time and --start": {at, start}} {
		if pair[0] != "" && pair[1] != "" {
			return exitcode.Usagef("%s exclude each other", name)
		}
	}
	if since == "" && start == "" && end+step != "" {
		return exitcode.Usagef("--end and --step are for a range: give --since or --start")
	}
	if since != "" {
		d, err := time.ParseDuration(since)
		if err != nil {
			d, err = dashboard.Slice(since) // days
		}
		if err == nil && d <= 0 {
			err = fmt.Errorf("%s is not in the past", since)
		}
		if err != nil {
			return exitcode.Usagef("--since: %w", err)
		}
		from := time.Now()
		if end != "" {
			return exitcode.Usagef("--since and --end exclude each other: give --start and --end")
		}
		request.StartMicros = clock.Micros(from.Add(-d))
	}
	for _, f := range []struct {
		name, text string
		to         *int64
	}{{"--start", start, &request.StartMicros}, {"--end", end, &request.EndMicros}, {"--time", at, &request.TimeMicros}} {
		if f.text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339Nano, f.text)
		if err != nil {
			return exitcode.Usagef("%s %q is not a time with its zone, such as 2026-01-31T08:00:00Z or 2026-01-31T09:00:00+01:00", f.name, f.text)
		}
		*f.to = clock.Micros(t)
	}
	if step != "" {
		d, err := time.ParseDuration(step)
		if err != nil || d <= 0 {
			return exitcode.Usagef("--step %q is not a duration such as 30s", step)
		}
		request.StepMicros = d.Microseconds()
	}
	return nil
}

// show prints an answer; what is said about it goes beside it.
func show(a *command.App, cluster string, r *hubv1.QueryMetricsResponse) error {
	for _, notice := range r.GetNotices() {
		fmt.Fprintln(a.Err, notice)
	}
	if output.Data(a.Output) {
		return a.Encode(newView(cluster, r))
	}
	rows := []row{}
	if r.GetResultType() == "string" {
		rows = append(rows, row{"", "", r.GetText()})
	}
	for _, s := range r.GetSeries() {
		name, n := nameOf(s.GetLabels()), len(s.GetTimes())
		for i := range n {
			if a.Output == output.CSV || i == n-1 {
				rows = append(rows, row{name, fields.Stamp(s.GetTimes()[i]), number(s.GetValues()[i])})
			}
		}
	}
	return command.PrintList(a, rows, func(r row) string { return r.series },
		command.Col("SERIES", func(r row) string { return r.series }), command.Col("VALUE", func(r row) string { return r.value }), command.Col("AT", func(r row) string { return r.at }))
}

func newView(cluster string, r *hubv1.QueryMetricsResponse) resultView {
	v := resultView{
		Cluster: cluster, Source: r.GetSource().GetName(), Query: r.GetSent(), ResultType: r.GetResultType(), Series: []seriesView{}, Text: r.GetText(), SeriesCut: r.GetSeriesCut(),
		Notices: append([]string{}, r.GetNotices()...), Namespaces: append([]string{}, r.GetNamespaces().GetNames()...), All: r.GetNamespaces().GetAll(),
		NewestAt: fields.Stamp(r.GetNewestMicros()), Samples: r.GetStats().GetSamples(), Bytes: r.GetStats().GetBytes(),
	}
	if r.GetStepMicros() > 0 {
		v.Start, v.End, v.Step = fields.Stamp(r.GetStartMicros()), fields.Stamp(r.GetEndMicros()), (time.Duration(r.GetStepMicros()) * time.Microsecond).String()
	}
	for _, s := range r.GetSeries() {
		one := seriesView{Labels: map[string]string{}, Points: []pointView{}}
		for _, l := range s.GetLabels() {
			one.Labels[l.GetName()] = l.GetValue()
		}
		for i := range s.GetTimes() {
			one.Points = append(one.Points, pointView{fields.Stamp(s.GetTimes()[i]), number(s.GetValues()[i])})
		}
		v.Series = append(v.Series, one)
	}
	return v
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// nameOf writes labels as PromQL does.
func nameOf(labels []*hubv1.MetricLabel) string {
	name, rest := "", []string{}
	for _, l := range labels {
		if l.GetName() == "__name__" {
			name = l.GetValue()
			continue
		}
		rest = append(rest, l.GetName()+"="+strconv.Quote(l.GetValue()))
	}
	if len(rest) == 0 && name != "" {
		return name
	}
	return name + "{" + strings.Join(rest, ",") + "}"
}

// sourceView is a store as -o json and -o yaml show it.
type sourceView struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	At       string `json:"at"`
	Declared bool   `json:"declared"`
	Used     bool   `json:"used"`
}

func sourcesCommand(a *command.App) *cobra.Command {
	var request hubv1.ObservabilitySourcesRequest
	c := &cobra.Command{
		Use: "sources CLUSTER", Short: "List the stores of a cluster's metrics, logs and alerts", Args: command.Exactly(1),
		Long: `List the stores of a cluster's metrics, logs and alerts: those that a TelemetrySource declares,
and those that its agent finds by their usual names. Of each type the one that is marked is asked
when a question names none.`,
		Example: "  axle metrics sources edge-1\n  axle metrics sources edge-1 --type prometheus",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			request.Cluster = args[0]
			answer, err := client.Observability.Sources(c.Context(), connect.NewRequest(&request))
			if err != nil {
				return err
			}
			views, types := []sourceView{}, map[string]int{}
			for _, s := range answer.Msg.GetSources() {
				views = append(views, sourceView{s.GetName(), s.GetType(), s.GetAt(), s.GetDeclared(), s.GetUsed()})
				types[s.GetType()]++
			}
			for _, notice := range answer.Msg.GetNotices() {
				fmt.Fprintln(a.Err, notice)
			}
			for _, kind := range command.SortedKeys(types) {
				if !slices.ContainsFunc(views, func(v sourceView) bool { return v.Type == kind && v.Used }) {
					fmt.Fprintf(a.Err, "several stores are of the type %s: name one with --source, or declare the one to use with axle telemetry-sources apply\n", kind)
				}
			}
			return command.PrintList(a, views, func(v sourceView) string { return v.Name },
				command.Col("NAME", func(v sourceView) string { return v.Name }), command.Col("TYPE", func(v sourceView) string { return v.Type }),
				command.Col("USED", func(v sourceView) string { return yes(v.Used) }), command.Col("DECLARED", func(v sourceView) string { return yes(v.Declared) }),
				command.Col("AT", func(v sourceView) string { return v.At }))
		}),
	}
	c.Flags().StringVar(&request.Type, "type", "", "only those of a type: "+rule.Or(rule.TelemetryTypes))
	command.Complete(c, "type", rule.TelemetryTypes...)
	return c
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
