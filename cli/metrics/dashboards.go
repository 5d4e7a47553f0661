package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/dashboard"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// graphsAtOnce are those that the hub draws in one answer.
const graphsAtOnce = 20

func dashboardsCommand(a *command.App) *cobra.Command {
	d := drawing{App: a, request: &hubv1.DrawDashboardRequest{}}
	c := &cobra.Command{
		Use: "dashboards CLUSTER [[NAMESPACE/]NAME]", Aliases: []string{"dashboard"}, Short: "List the dashboards of a cluster, or draw one", Args: atMostTwo,
		Long: `List the Dashboards that applications brought into a cluster, or draw one as a table: a line for
each series, with its values as a picture. The objects are read in the cluster with your rights
there, and the queries are limited to the namespaces in which the cluster lets you read the logs
of pods. A graph that fails is shown with the reason, and the others are drawn.`,
		Example: `  axle metrics dashboards edge-1
  axle metrics dashboards edge-1 shop/web --since 6h --var pod=web-0
  axle metrics dashboards edge-1 shop/web --graph 2 -o json`,
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			d.client = client
			d.request.Cluster = args[0]
			if len(args) == 1 {
				return d.list(c.Context())
			}
			return d.draw(c.Context(), args[1])
		}),
	}
	flags := c.Flags()
	flags.StringVar(&d.request.Source, "source", "", "name of the store, if the cluster has several; axle metrics sources shows them")
	flags.StringVar(&d.since, "since", "", "the range from a duration ago, such as 6h or 7d, until now (default: that of the dashboard)")
	flags.StringArrayVar(&d.variables, "var", nil, "value of a variable, as NAME=VALUE; may be repeated (default: its first value)")
	flags.StringArrayVar(&d.numbers, "graph", nil, "number of a graph, from 1; may be repeated (default: all)")
	return c
}

func atMostTwo(c *cobra.Command, args []string) error {
	if len(args) == 1 {
		return command.Exactly(1)(c, args)
	}
	return command.Exactly(2)(c, args)
}

// drawing is one run of the command.
type drawing struct {
	*command.App
	client    *sdk.Client
	request   *hubv1.DrawDashboardRequest
	since     string
	variables []string
	numbers   []string
	graphs    []int32
}

// entry is a dashboard in the list.
type entry struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Graphs      int    `json:"graphs"`
	settings    json.RawMessage
}

func (e entry) path() string { return e.Namespace + "/" + e.Name }

// read returns the dashboards of a cluster, or the one of a name.
func (d *drawing) read(ctx context.Context, namespace, name string) ([]entry, error) {
	var all []entry
	for next := ""; ; {
		answer, err := d.client.ClusterAPI.ListObjects(ctx, connect.NewRequest(&hubv1.ListClusterObjectsRequest{
			Objects: &hubv1.ClusterObjects{Cluster: d.request.GetCluster(), Group: "platform.plural.sh", Version: "v1alpha1", Resource: "dashboards", Namespace: namespace},
			Name:    name, Limit: 500, Continue: next,
		}))
		if errcode.Is(err, errcode.NotFound) && name == "" && strings.Contains(errcode.Text(err), "page not found") {
			return nil, errcode.New(errcode.NotFound, "cluster %s has no Dashboards, as its API server does not know the kind: apply the manifests of this agent's version to it", d.request.GetCluster())
		}
		if err != nil {
			return nil, err
		}
		some, err := entries(answer.Msg.GetJson(), name != "")
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if next = answer.Msg.GetContinue(); next == "" {
			return all, nil
		}
	}
}

// entries reads a page of Dashboards, or one.
func entries(text []byte, one bool) (all []entry, err error) {
	type object struct {
		Metadata struct{ Namespace, Name string } `json:"metadata"`
		Spec     json.RawMessage                  `json:"spec"`
	}
	var list struct {
		object
		Items []object `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("the cluster's answer cannot be read: %w", err)
	}
	if one {
		list.Items = []object{list.object}
	}
	for _, o := range list.Items {
		e := entry{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, settings: o.Spec}
		// One that cannot be read is listed, and drawing it says why.
		if spec, err := dashboard.Settings(o.Spec); err == nil {
			e.Title, e.Description, e.Graphs = spec.Name, spec.Description, len(spec.Graphs)
		}
		all = append(all, e)
	}
	return all, nil
}

// message is the dashboard as the hub takes it.
func (e entry) message() (*hubv1.DashboardSettings, error) {
	out := &hubv1.DashboardSettings{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(e.settings, out); err != nil {
		return nil, fmt.Errorf("dashboard %s: %w", e.path(), err)
	}
	return out, nil
}

func (d *drawing) list(ctx context.Context) error {
	all, err := d.read(ctx, "", "")
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(x, y entry) int { return strings.Compare(x.path(), y.path()) })
	return command.PrintList(d.App, all, entry.path,
		command.Col("NAMESPACE", func(e entry) string { return e.Namespace }), command.Col("NAME", func(e entry) string { return e.Name }),
		command.Col("TITLE", func(e entry) string { return e.Title }), command.Col("GRAPHS", func(e entry) string { return strconv.Itoa(e.Graphs) }),
		command.Wide("DESCRIPTION", func(e entry) string { return e.Description }))
}

// find returns the dashboard that an argument names.
func (d *drawing) find(ctx context.Context, text string) (entry, error) {
	namespace, name, both := strings.Cut(text, "/")
	if both {
		all, err := d.read(ctx, namespace, name)
		if err != nil {
			return entry{}, err
		}
		return all[0], nil
	}
	all, err := d.read(ctx, "", "")
	if err != nil {
		return entry{}, err
	}
	var found, names []string
	var one entry
	for _, e := range all {
		if names = append(names, e.path()); e.Name == text {
			found, one = append(found, e.path()), e
		}
	}
	switch {
	case len(found) > 1:
		return one, exitcode.Usagef("cluster %s has several dashboards %s: %s; name the namespace too", d.request.GetCluster(), text, strings.Join(found, ", "))
	case len(found) == 0:
		return one, exitcode.With(fmt.Errorf("cluster %s has no dashboard %s; it has %s", d.request.GetCluster(), text, strings.Join(names, ", ")), exitcode.Failed)
	}
	return one, nil
}

func (d *drawing) draw(ctx context.Context, name string) error {
	e, err := d.find(ctx, name)
	if err != nil {
		return err
	}
	r := d.request
	if r.Dashboard, err = e.message(); err != nil {
		return err
	}
	if err := d.within(e.settings); err != nil {
		return err
	}
	if r.Variables, err = variables(d.variables); err != nil {
		return err
	}
	for _, text := range d.numbers {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return exitcode.Usagef("--graph %q is not the number of a graph", text)
		}
		d.graphs = append(d.graphs, int32(n))
	}
	if len(d.graphs) == 0 {
		for n := range r.GetDashboard().GetGraphs() {
			d.graphs = append(d.graphs, int32(n+1))
		}
	}
	whole := &hubv1.DrawDashboardResponse{}
	for some := range slices.Chunk(d.graphs, graphsAtOnce) {
		r.Graphs = some
		answer, err := d.client.Dashboards.Draw(ctx, connect.NewRequest(r))
		if err != nil {
			return err
		}
		graphs := append(whole.GetGraphs(), answer.Msg.GetGraphs()...)
		whole = answer.Msg
		whole.Graphs = graphs
	}
	return d.show(e, whole)
}

// within sets the range: the same for all parts of a drawing.
func (d *drawing) within(settings json.RawMessage) error {
	spec, err := dashboard.Settings(settings)
	if err != nil {
		return err
	}
	length := dashboard.First(spec)
	if d.since != "" {
		if length, err = dashboard.Slice(d.since); err != nil {
			return exitcode.Usagef("--since: %w", err)
		}
	}
	now := time.Now()
	d.request.StartMicros, d.request.EndMicros = clock.Micros(now.Add(-length)), clock.Micros(now)
	return nil
}

func variables(all []string) (map[string]string, error) {
	out := map[string]string{}
	for _, one := range all {
		name, value, ok := strings.Cut(one, "=")
		if !ok || name == "" {
			return nil, exitcode.Usagef("--var %q is not NAME=VALUE", one)
		}
		out[name] = value
	}
	return out, nil
}

// drawnView is a drawing as -o json and -o yaml show it.
type drawnView struct {
	Cluster   string         `json:"cluster"`
	Dashboard string         `json:"dashboard"`
	Source    string         `json:"source"`
	Start     string         `json:"start"`
	End       string         `json:"end"`
	Variables []variableView `json:"variables"`
	Graphs    []graphView    `json:"graphs"`
	Notices   []string       `json:"notices"`
}

type variableView struct {
	Name    string   `json:"name"`
	Value   string   `json:"value"`
	Values  []string `json:"values"`
	Message string   `json:"message,omitempty"`
}

type graphView struct {
	Number  int32      `json:"number"`
	Name    string     `json:"name"`
	Format  string     `json:"format"`
	Message string     `json:"message,omitempty"`
	Lines   []lineView `json:"lines"`
	Cut     int32      `json:"seriesCut"`
}

type lineView struct {
	Legend string            `json:"legend"`
	Labels map[string]string `json:"labels"`
	Query  string            `json:"query"`
	Points []pointView       `json:"points"`
}

func (d *drawing) show(e entry, r *hubv1.DrawDashboardResponse) error {
	v := drawnView{
		Cluster: d.request.GetCluster(), Dashboard: e.path(), Source: r.GetSource().GetName(), Start: fields.Stamp(r.GetStartMicros()), End: fields.Stamp(r.GetEndMicros()),
		Variables: []variableView{}, Graphs: []graphView{}, Notices: append([]string{}, r.GetNotices()...),
	}
	for _, x := range r.GetVariables() {
		v.Variables = append(v.Variables, variableView{x.GetName(), x.GetValue(), append([]string{}, x.GetValues()...), x.GetMessage()})
	}
	var rows []lineRow
	for _, g := range r.GetGraphs() {
		view := graphView{Number: g.GetNumber(), Name: g.GetName(), Format: g.GetFormat(), Message: g.GetMessage(), Lines: []lineView{}}
		title := fmt.Sprintf("%d %s", g.GetNumber(), g.GetName())
		for _, q := range g.GetQueries() {
			view.Cut += q.GetSeriesCut()
			for _, s := range q.GetSeries() {
				view.Lines = append(view.Lines, lineOf(q.GetSent(), s))
				rows = append(rows, rowOf(title, g.GetFormat(), s))
			}
			v.Notices = append(v.Notices, q.GetNotices()...)
		}
		if view.Message != "" || len(view.Lines) == 0 {
			rows = append(rows, lineRow{graph: title, line: "-", message: or(view.Message, "no samples in this range")})
		}
		v.Graphs = append(v.Graphs, view)
	}
	if output.Data(d.Output) {
		return d.Encode(v)
	}
	slices.Sort(v.Notices)
	for _, notice := range slices.Compact(v.Notices) {
		fmt.Fprintln(d.Err, notice)
	}
	for _, x := range v.Variables {
		fmt.Fprintf(d.Err, "$%s is %q%s\n", x.Name, x.Value, choices(x))
	}
	return command.PrintList(d.App, rows, func(r lineRow) string { return r.line },
		command.Col("GRAPH", func(r lineRow) string { return r.graph }), command.Col("LINE", func(r lineRow) string { return r.line }),
		command.Col("LAST", func(r lineRow) string { return r.last }), command.Col("LOWEST", func(r lineRow) string { return r.low }),
		command.Col("HIGHEST", func(r lineRow) string { return r.high }), command.Col("VALUES", func(r lineRow) string { return or(r.picture, r.message) }))
}

func or(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

func choices(v variableView) string {
	if v.Message != "" {
		return ": " + v.Message
	}
	if len(v.Values) < 2 {
		return ""
	}
	some := v.Values[:min(len(v.Values), 8)]
	more := ""
	if len(some) < len(v.Values) {
		more = fmt.Sprintf(" and %d more", len(v.Values)-len(some))
	}
	return fmt.Sprintf(" of %s%s", strings.Join(some, ", "), more)
}

type lineRow struct{ graph, line, last, low, high, picture, message string }

func lineOf(sent string, s *hubv1.MetricSeries) lineView {
	l := lineView{Legend: s.GetLegend(), Labels: map[string]string{}, Query: sent, Points: []pointView{}}
	for _, label := range s.GetLabels() {
		l.Labels[label.GetName()] = label.GetValue()
	}
	for i, at := range s.GetTimes() {
		l.Points = append(l.Points, pointView{fields.Stamp(at), number(s.GetValues()[i])})
	}
	return l
}

func rowOf(graph, format string, s *hubv1.MetricSeries) lineRow {
	values := s.GetValues()
	r := lineRow{graph: graph, line: s.GetLegend(), last: "-", low: "-", high: "-"}
	if len(values) > 0 {
		r.last, r.low, r.high = amount(values[len(values)-1], format), amount(slices.Min(values), format), amount(slices.Max(values), format)
		r.picture = picture(values)
	}
	return r
}

// amount is a value in the format of a graph.
func amount(v float64, format string) string {
	switch format {
	case "percent":
		return strconv.FormatFloat(v*100, 'g', 3, 64) + " %"
	case "bytes":
		for _, unit := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
			if math.Abs(v) < 1024 || unit == "TiB" {
				return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) + " " + unit
			}
			v /= 1024
		}
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

const columns = 40

// picture draws values from the lowest to the highest, the highest of those that share a column.
func picture(values []float64) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	low, high := slices.Min(values), slices.Max(values)
	var out strings.Builder
	n := min(columns, len(values))
	for i := range n {
		v := slices.Max(values[i*len(values)/n : (i+1)*len(values)/n])
		at := 0
		if share := (v - low) / (high - low); share > 0 && !math.IsInf(share, 0) {
			at = min(len(bars)-1, int(share*float64(len(bars))))
		}
		out.WriteRune(bars[at])
	}
	return out.String()
}

func checkCommand(a *command.App) *cobra.Command {
	return &cobra.Command{
		Use: "check FILE...", Short: "Check Dashboards in files", Args: command.AtLeast(1),
		Long: `Check the Dashboards of platform.plural.sh in files: their fields, their variables and their
queries in PromQL. Each fault is named by graph, query, line and column. Other objects in the files
are left out, - is the standard input, and no hub is asked. The exit code is 1 if there is a fault.`,
		Example: "  axle metrics check dashboards/*.yaml\n  helm template web | axle metrics check -",
		RunE: func(_ *cobra.Command, args []string) error {
			var faults []error
			checked := 0
			for _, path := range args {
				n, err := checkFile(a, path)
				checked += n
				if err != nil {
					faults = append(faults, err)
				}
			}
			if err := errors.Join(faults...); err != nil {
				return exitcode.With(err, exitcode.Failed)
			}
			if checked == 0 {
				return exitcode.With(fmt.Errorf("there is no Dashboard of platform.plural.sh/v1alpha1 in %s", strings.Join(args, ", ")), exitcode.Failed)
			}
			if !a.Quiet {
				fmt.Fprintf(a.Out, "%d dashboards checked\n", checked)
			}
			return nil
		},
	}
}

// checkFile checks the documents of a file, and returns how many dashboards it has.
func checkFile(a *command.App, path string) (checked int, err error) {
	in := a.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		in = f
	}
	var faults []error
	documents := utilyaml.NewDocumentDecoder(io.NopCloser(in))
	for n := 1; ; n++ {
		buffer := make([]byte, 1<<20)
		length, err := documents.Read(buffer)
		switch {
		case errors.Is(err, io.EOF):
			return checked, errors.Join(faults...)
		case err != nil:
			return checked, errors.Join(append(faults, fmt.Errorf("%s, document %d: %w", path, n, err))...)
		}
		o, ok, err := dashboard.Read(buffer[:length])
		if ok {
			checked++
		}
		if ok && err == nil {
			err = dashboard.Check(&o.Spec)
		}
		if err != nil {
			name := fmt.Sprintf("%s, document %d", path, n)
			if o != nil {
				name = fmt.Sprintf("%s: Dashboard %s", path, o.Name)
			}
			for _, line := range strings.Split(err.Error(), "\n") {
				faults = append(faults, fmt.Errorf("%s: %s", name, line))
			}
		}
	}
}
