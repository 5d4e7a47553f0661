package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/api/platform/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/promql"
)

const (
	// queriesAtOnce are those of one drawing that run at once.
	queriesAtOnce = 8
	// graphsAtOnce are those of one drawing, seriesOfQuery the lines of a query in it, and
	// valuesOfDrawing the points of all of them.
	graphsAtOnce, seriesOfQuery, valuesOfDrawing = 20, 100, 1_000_000
	// programsOfDrawing bounds the regular expressions of all its queries, in instructions: about
	// 50 ms to compile them.
	programsOfDrawing = 20_000
)

// Label is a label of a series.
type Label struct{ Name, Value string }

// Series is a series with its points; times are microseconds since 1970 UTC.
type Series struct {
	Labels []Label
	Times  []int64
	Values []float64
	// Legend is its name in the graph.
	Legend string
}

// Answer is that to a query.
type Answer struct {
	Series []Series
	// Cut is the number of series that are not in it.
	Cut int
	// Newest is the time of the newest sample; 0 is unknown.
	Newest  int64
	Notices []string
	// Sent is the query as the store got it.
	Sent string
}

// Querier asks the store of metrics. It is called concurrently.
type Querier interface {
	// Now asks for the present values.
	Now(ctx context.Context, query string) (*Answer, error)
	// Range asks for those of the range of the drawing.
	Range(ctx context.Context, query string) (*Answer, error)
}

// Variable is a variable with what can be chosen.
type Variable struct {
	Name, Value string
	Values      []string
	// Message says why there are no values.
	Message string
}

// Graph is one graph with what was found.
type Graph struct {
	// Number in the dashboard, from 1.
	Number  int
	Name    string
	Format  string
	Queries []Answer
	// Message says why there is nothing, or what is missing.
	Message string
}

// Drawing is a dashboard with the answers to its queries.
type Drawing struct {
	Variables []Variable
	Graphs    []Graph
}

// Choice is what of a dashboard is drawn.
type Choice struct {
	// Values of variables; others have the first one that they can have.
	Values map[string]string
	// Graphs by number, from 1; none are the first graphsAtOnce.
	Graphs []int
}

// Draw asks for the values of the variables and for the graphs of a dashboard. What fails, also by
// a fault that Check finds, is a message in its place: the rest is drawn. An error is that of the
// choice, of what is too much, or of a caller who has gone.
func Draw(ctx context.Context, d *v1alpha1.DashboardSpec, c Choice, q Querier) (*Drawing, error) {
	if err := bounded(d); err != nil {
		return nil, errcode.New(errcode.Invalid, "%w", err)
	}
	chosen, err := c.of(d)
	if err != nil {
		return nil, err
	}
	spent := &meter{}
	drawing := &Drawing{Variables: variablesOf(ctx, d.Labels, c.Values, q, spent)}
	values, empty := map[string]string{}, map[string]string{}
	for _, v := range drawing.Variables {
		if v.Value == "" {
			empty[v.Name] = cmp.Or(v.Message, "there are none to choose from")
		}
		values[v.Name] = v.Value
	}
	drawing.Graphs = make([]Graph, len(chosen))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(queriesAtOnce)
	messages := make([][]string, len(chosen))
	var drawn atomic.Int64
	for i, n := range chosen {
		g := d.Graphs[n-1]
		at := &drawing.Graphs[i]
		*at = Graph{Number: n, Name: g.Name, Format: cmp.Or(g.Format, "none"), Queries: make([]Answer, len(g.Queries))}
		messages[i] = make([]string, len(g.Queries))
		for k, one := range g.Queries {
			group.Go(func() error {
				answer, err := ask(within, one, namesOf(d.Labels), values, empty, spent, q.Range)
				if err != nil {
					messages[i][k] = errcode.Text(err)
					return within.Err()
				}
				if over := len(answer.Series) - seriesOfQuery; over > 0 {
					answer.Series, answer.Cut = answer.Series[:seriesOfQuery], answer.Cut+over
				}
				for s := range answer.Series {
					series := &answer.Series[s]
					dropNaN(series)
					series.Legend = legend(one, series.Labels, values)
					if drawn.Add(int64(len(series.Values))) > valuesOfDrawing {
						answer.Series, answer.Cut = answer.Series[:s], answer.Cut+len(answer.Series)-s
						messages[i][k] = fmt.Sprintf("the drawing has more than %d points: ask for a longer step, a shorter time, or fewer series", valuesOfDrawing)
						break
					}
				}
				at.Queries[k] = *answer
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i := range drawing.Graphs {
		drawing.Graphs[i].Message = joined(messages[i])
	}
	return drawing, ctx.Err()
}

// of returns the numbers of the graphs that are drawn, and Invalid for what the dashboard does
// not have.
func (c Choice) of(d *v1alpha1.DashboardSpec) ([]int, error) {
	for name, value := range c.Values {
		if !slices.Contains(namesOf(d.Labels), name) {
			return nil, errcode.New(errcode.Invalid, "variables: %q is no variable of the dashboard", cut(name, 60))
		}
		if len(value) > maxText {
			return nil, errcode.New(errcode.Invalid, "variables: the value of %s has %d bytes, at most %d are allowed", name, len(value), maxText)
		}
	}
	chosen := slices.Compact(slices.Sorted(slices.Values(c.Graphs)))
	if len(chosen) == 0 {
		for i := range d.Graphs[:min(len(d.Graphs), graphsAtOnce)] {
			chosen = append(chosen, i+1)
		}
	}
	if len(chosen) > graphsAtOnce {
		return nil, errcode.New(errcode.Invalid, "graphs: %d are named, at most %d are drawn at once", len(chosen), graphsAtOnce)
	}
	for _, n := range chosen {
		if n < 1 || n > len(d.Graphs) {
			return nil, errcode.New(errcode.Invalid, "graphs: there is no graph %d, the dashboard has %d", n, len(d.Graphs))
		}
	}
	return chosen, nil
}

func joined(messages []string) string {
	var all []string
	for i, m := range messages {
		if m == "" || slices.Contains(all, m) {
			continue
		}
		if len(messages) > 1 {
			m = fmt.Sprintf("query %d: %s", i+1, m)
		}
		all = append(all, m)
	}
	return strings.Join(all, "; ")
}

func namesOf(all []v1alpha1.DashboardLabel) []string {
	names := make([]string, len(all))
	for i, l := range all {
		names[i] = l.Name
	}
	return names
}

func ask(ctx context.Context, one v1alpha1.DashboardQuery, names []string, values, empty map[string]string, spent *meter, do func(context.Context, string) (*Answer, error)) (*Answer, error) {
	size, err := promql.Measure(one.Query)
	if err == nil {
		err = spent.add(size)
	}
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%w", err)
	}
	parsed, err := parse(one.Query, names)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%w", err)
	}
	for _, name := range parsed.takes {
		if why := empty[name]; why != "" {
			return nil, errcode.New(errcode.Invalid, "$%s has no value: %s", name, why)
		}
	}
	text, err := parsed.with(values, spent)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%w", err)
	}
	return do(ctx, text)
}

// variablesOf finds the values of variables. A query may take the variables before it: those
// that take none are asked at once.
func variablesOf(ctx context.Context, all []v1alpha1.DashboardLabel, chosen map[string]string, q Querier, spent *meter) []Variable {
	found := make([]Variable, len(all))
	done := make([]bool, len(all))
	values, empty := map[string]string{}, map[string]string{}
	for left := len(all); left > 0; {
		// A round has those whose variables have values.
		var round []int
		for i, l := range all {
			if !done[i] && ready(l, all[:i], done) {
				round = append(round, i)
			}
		}
		var group errgroup.Group
		group.SetLimit(queriesAtOnce)
		for _, i := range round {
			group.Go(func() error {
				found[i] = variableOf(ctx, all[i], namesOf(all[:i]), values, empty, q, spent)
				return nil
			})
		}
		_ = group.Wait()
		for _, i := range round {
			v := &found[i]
			if v.Value = chosen[v.Name]; v.Value == "" && len(v.Values) > 0 {
				v.Value = v.Values[0]
			}
			if values[v.Name] = v.Value; v.Value == "" {
				empty[v.Name] = v.Message
			}
			done[i] = true
		}
		left -= len(round)
	}
	return found
}

// ready reports whether the variables before one that it takes have been asked.
func ready(l v1alpha1.DashboardLabel, before []v1alpha1.DashboardLabel, done []bool) bool {
	if l.Query == nil {
		return true
	}
	for _, match := range variable.FindAllStringSubmatch(l.Query.Query, -1) {
		if i := slices.Index(namesOf(before), nameIn(match)); i >= 0 && !done[i] {
			return false
		}
	}
	return true
}

func variableOf(ctx context.Context, l v1alpha1.DashboardLabel, before []string, values, empty map[string]string, q Querier, spent *meter) Variable {
	v := Variable{Name: l.Name, Values: l.Values}
	if l.Query == nil {
		return v
	}
	answer, err := ask(ctx, v1alpha1.DashboardQuery{Query: l.Query.Query}, before, values, empty, spent, q.Now)
	if err != nil {
		v.Message = errcode.Text(err)
		return v
	}
	for _, s := range answer.Series {
		for _, label := range s.Labels {
			if label.Name == l.Query.Label && label.Value != "" && len(label.Value) <= maxText {
				v.Values = append(v.Values, label.Value)
			}
		}
	}
	slices.SortFunc(v.Values, byNumbers)
	v.Values = slices.Compact(v.Values)
	if len(v.Values) > maxValues {
		v.Message = fmt.Sprintf("%d of %d values are shown", maxValues, len(v.Values))
		v.Values = v.Values[:maxValues]
	}
	if len(v.Values) == 0 {
		v.Message = fmt.Sprintf("no series that its query finds has the label %s", l.Query.Label)
		if len(answer.Notices) > 0 {
			v.Message += "; " + strings.Join(answer.Notices, "; ")
		}
	}
	return v
}

var digits = regexp.MustCompile(`[0-9]+`)

// byNumbers orders texts as people count: web-2 is before web-10.
func byNumbers(a, b string) int {
	padded := func(text string) string {
		return digits.ReplaceAllStringFunc(text, func(n string) string { return strings.Repeat("0", max(0, 20-len(n))) + n })
	}
	return cmp.Or(strings.Compare(padded(a), padded(b)), strings.Compare(a, b))
}

// dropNaN takes out points that are no numbers.
func dropNaN(s *Series) {
	kept := 0
	for i, v := range s.Values {
		if !math.IsNaN(v) {
			s.Values[kept], s.Times[kept] = v, s.Times[i]
			kept++
		}
	}
	s.Values, s.Times = s.Values[:kept], s.Times[:kept]
}

// braces are the labels in legends of Prometheus' own formats.
var braces = regexp.MustCompile(`\{\{\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*\}\}`)

// legend is the name of a line. A label that the series does not have may be a variable; what is
// neither stays as it is written.
func legend(q v1alpha1.DashboardQuery, labels []Label, values map[string]string) string {
	if q.LegendFormat != "" {
		return cut(variable.ReplaceAllStringFunc(braces.ReplaceAllString(q.LegendFormat, "$${$1}"), func(found string) string {
			name := nameIn(variable.FindStringSubmatch(found))
			for _, l := range labels {
				if l.Name == name {
					return l.Value
				}
			}
			return cmp.Or(values[name], found)
		}), maxText)
	}
	if q.Legend != "" {
		return q.Legend
	}
	var all []string
	for _, l := range labels {
		all = append(all, l.Name+"="+l.Value)
	}
	return cut(strings.Join(all, ", "), maxText)
}
