package dashboard

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/axle-cd/axle/api/platform/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// Limits of a dashboard. The definition of the kind has them too.
const (
	maxGraphs      = 100
	maxQueries     = 20
	maxVariables   = 20
	maxValues      = 1000
	maxTimeslices  = 20
	maxQueryLength = 10_000
	maxText        = 2000
	maxProblems    = 20
	maxTime        = 400 * 24 * time.Hour
)

// Formats of graphs.
var formats = []string{"", "none", "bytes", "percent"}

var nameOfVariable = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// Check returns what is wrong with a dashboard, as one error of the code Invalid: a line for each
// problem, at most maxProblems. It asks nobody.
func Check(d *v1alpha1.DashboardSpec) error {
	var all []error
	problem := func(err error) {
		if err != nil {
			all = append(all, err)
		}
	}
	problem(bounded(d))
	for _, t := range append([]string{d.DefaultTime}, d.Timeslices...) {
		if _, err := Slice(t); t != "" && err != nil {
			problem(err)
		}
	}
	var names []string
	for i, l := range d.Labels[:min(len(d.Labels), maxVariables)] {
		problem(checkVariable(i, l, names))
		names = append(names, l.Name)
	}
	for i, g := range d.Graphs[:min(len(d.Graphs), maxGraphs)] {
		at := graphName(i, g)
		if !slices.Contains(formats, g.Format) {
			problem(fmt.Errorf("%s: the format %q is none of bytes, percent, none", at, g.Format))
		}
		if len(g.Queries) == 0 {
			problem(fmt.Errorf("%s: there are no queries", at))
		}
		for n, q := range g.Queries[:min(len(g.Queries), maxQueries)] {
			if _, err := parse(q.Query, names); err != nil {
				problem(fmt.Errorf("%s, query %d: %w", at, n+1, err))
			}
		}
	}
	if len(all) > maxProblems {
		all = append(all[:maxProblems], fmt.Errorf("and %d more", len(all)-maxProblems))
	}
	if len(all) == 0 {
		return nil
	}
	return errcode.New(errcode.Invalid, "%w", errors.Join(all...))
}

// bounded returns what is too much of a dashboard, for one that no API server has checked.
func bounded(d *v1alpha1.DashboardSpec) error {
	all := []error{
		atMost("timeslices", len(d.Timeslices), maxTimeslices), atMost("labels", len(d.Labels), maxVariables), atMost("graphs", len(d.Graphs), maxGraphs),
		texts(maxText, d.Name, d.Description),
	}
	for i, l := range d.Labels {
		all = append(all, atMost(fmt.Sprintf("label %d: values", i+1), len(l.Values), maxValues), texts(maxText, l.Values...))
	}
	for i, g := range d.Graphs {
		all = append(all, atMost(graphName(i, g)+": queries", len(g.Queries), maxQueries), texts(maxText, g.Name))
		for _, q := range g.Queries {
			all = append(all, texts(maxText, q.Legend, q.LegendFormat))
		}
	}
	return errors.Join(all...)
}

// graphName names a graph as people count.
func graphName(i int, g v1alpha1.DashboardGraph) string {
	if g.Name == "" {
		return fmt.Sprintf("graph %d", i+1)
	}
	return fmt.Sprintf("graph %d (%s)", i+1, cut(g.Name, 60))
}

func checkVariable(i int, l v1alpha1.DashboardLabel, before []string) error {
	at := fmt.Sprintf("label %d (%s)", i+1, cut(l.Name, 60))
	switch {
	case !nameOfVariable.MatchString(l.Name) || len(l.Name) > 100:
		return fmt.Errorf("label %d: the name %q has other than letters, digits and _", i+1, cut(l.Name, 60))
	case slices.Contains(before, l.Name):
		return fmt.Errorf("%s: the name stands twice", at)
	case l.Query == nil && len(l.Values) == 0:
		return fmt.Errorf("%s: it has neither values nor a query", at)
	case l.Query != nil && len(l.Values) > 0:
		return fmt.Errorf("%s: it has values and a query; one of them is enough", at)
	case l.Query == nil:
		return nil
	case l.Query.Label == "":
		return fmt.Errorf("%s: its query has no label, the one of the series that has the values", at)
	}
	if _, err := parse(l.Query.Query, before); err != nil {
		return fmt.Errorf("%s, query: %w", at, err)
	}
	return nil
}

func atMost(what string, have, most int) error {
	if have <= most {
		return nil
	}
	return fmt.Errorf("%s: there are %d, at most %d are drawn", what, have, most)
}

func texts(most int, all ...string) error {
	for _, t := range all {
		if len(t) > most {
			return fmt.Errorf("a text has %d bytes, at most %d are allowed: %s", len(t), most, cut(t, 40))
		}
	}
	return nil
}

func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
}

// Slice is the length of a time range such as 30m, 1h, 7d.
func Slice(text string) (time.Duration, error) {
	d, err := model.ParseDuration(text)
	if err != nil || d <= 0 || time.Duration(d) > maxTime {
		return 0, fmt.Errorf("the time range %q is not like 30m, 1h or 7d, up to %d days", cut(text, 20), int(maxTime.Hours()/24))
	}
	return time.Duration(d), nil
}

// First is the time range that a dashboard shows at first.
func First(d *v1alpha1.DashboardSpec) time.Duration {
	for _, t := range append([]string{d.DefaultTime}, d.Timeslices...) {
		if found, err := Slice(t); err == nil {
			return found
		}
	}
	return time.Hour
}
