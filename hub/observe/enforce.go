package observe

import (
	"errors"
	"regexp"
	"strings"

	"github.com/prometheus-community/prom-label-proxy/injectproxy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/plain"
	"github.com/axle-cd/axle/internal/promql"
	"github.com/axle-cd/axle/internal/telemetry"
)

// maxDepth bounds how deep a query is nested.
const maxDepth = 200

// nothing matches no namespace: none has such a name.
const nothing = "-"

// Pattern is the regular expression of the namespaces, anchored as PromQL, LogQL and LogsQL
// (with ^ and $ around it) do. Those who see none get one that matches no namespace, and never
// the empty one, which is that of what belongs to no namespace.
func (n Namespaces) Pattern() string {
	if len(n.Names) == 0 {
		return nothing
	}
	quoted := make([]string, len(n.Names))
	for i, name := range n.Names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return strings.Join(quoted, "|")
}

// Sees reports whether the data of a namespace are shown; an empty one is what belongs to none.
func (n Namespaces) Sees(namespace string) bool {
	if n.All {
		return true
	}
	for _, name := range n.Names {
		if name == namespace && name != "" {
			return true
		}
	}
	return false
}

// leftOut is a notice when namespaces were not looked at; what is of them is missing.
func (n Namespaces) leftOut(what string) []string {
	if n.LeftOut == 0 {
		return nil
	}
	return []string{"the cluster has more namespaces than are looked at, so " + what + " of some that you may read are missing"}
}

// limits are what of a store an answer may be about.
type limits struct {
	Namespaces
	// label is that of namespaces.
	label string
	// cluster is the label of clusters in a store of several, and value that of the cluster;
	// empty for a store of one.
	cluster, value string
}

// limits are those of the target's caller.
func (t *Target) limits() limits {
	s := t.Source
	return limits{Namespaces: t.Namespaces, label: s.NamespaceLabel, cluster: s.settings.ClusterLabel, value: s.settings.ClusterValue}
}

// none is set when nothing is to be kept from the caller: the store is of one cluster, all of
// which they see.
func (l limits) none() bool { return l.All && l.cluster == "" }

// enforcers add what every selector gets, in this order. It is a regular expression even for
// one value: an equal matcher would take the place of the one in the query, which would then
// answer about another namespace, or cluster, than it says.
func (l limits) enforcers() (all []*injectproxy.PromQLEnforcer, size int, err error) {
	add := func(label, pattern string) error {
		m, err := labels.NewMatcher(labels.MatchRegexp, label, pattern)
		if err != nil {
			return errcode.New(errcode.Internal, "the pattern of %s: %w", label, err)
		}
		all, size = append(all, injectproxy.NewPromQLEnforcer(false, m)), size+len(pattern)
		return nil
	}
	if l.cluster != "" {
		if err := add(l.cluster, regexp.QuoteMeta(l.value)); err != nil {
			return nil, 0, err
		}
	}
	if l.All {
		return all, size, nil
	}
	return all, size, add(l.label, l.Pattern())
}

// checkQuery bounds what the parser gets.
func checkQuery(query string) error {
	switch {
	case strings.TrimSpace(query) == "":
		return errcode.New(errcode.Invalid, "the query is empty; give PromQL, such as up")
	case len(query) > promql.MaxQuery:
		return errcode.New(errcode.Invalid, "the query has %d bytes; at most %d are allowed", len(query), promql.MaxQuery)
	}
	return nil
}

// checkSize bounds what becomes of a query: each part of it is written once for each that it
// is in, and each selector gets the namespaces.
func checkSize(expression parser.Expr, pattern int) error {
	selectors, deepest := 0, 0
	parser.Inspect(expression, func(node parser.Node, path []parser.Node) error {
		if node == nil {
			return nil
		}
		deepest = max(deepest, len(path))
		if _, is := node.(*parser.VectorSelector); is {
			selectors++
		}
		return nil
	})
	switch {
	case deepest > maxDepth:
		return errcode.New(errcode.Invalid, "the query is nested %d times; at most %d are allowed", deepest, maxDepth)
	case selectors*pattern > telemetry.MaxURI:
		return errcode.New(errcode.Invalid, "the query has %d selectors, each of which is limited to %d bytes of namespaces; at most %d bytes are sent: make it shorter", selectors, pattern, telemetry.MaxURI)
	}
	return nil
}

// promQL limits a query. One of somebody from whom nothing is kept is returned as it is,
// without being parsed: it may be of a dialect.
func (l limits) promQL(query string) (string, error) {
	if err := checkQuery(query); err != nil || l.none() {
		return query, err
	}
	enforcers, size, err := l.enforcers()
	if err != nil {
		return "", err
	}
	expression, err := promql.Parse(query)
	if err != nil {
		return "", l.notPromQL(err)
	}
	if err := checkSize(expression, size); err != nil {
		return "", err
	}
	for _, e := range enforcers {
		if err := enforce(e, expression); err != nil {
			return "", l.notPromQL(err)
		}
	}
	return expression.String(), nil
}

// enforce also limits the parameters of aggregations, such as the number in quantile, which
// the enforcer leaves as they are.
func enforce(e *injectproxy.PromQLEnforcer, expression parser.Expr) error {
	problem := e.EnforceNode(expression)
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if a, is := node.(*parser.AggregateExpr); is && a.Param != nil && problem == nil {
			problem = e.EnforceNode(a.Param)
		}
		return nil
	})
	return problem
}

// selectors limits selectors of series. Without any, one that has only the limit is returned;
// with nothing to be kept from the caller they are as they are.
func (l limits) selectors(all []string) ([]string, error) {
	for _, one := range all {
		if err := checkQuery(one); err != nil {
			return nil, err
		}
	}
	if l.none() {
		return all, nil
	}
	enforcers, _, err := l.enforcers()
	if err != nil {
		return nil, err
	}
	parsed := make([][]*labels.Matcher, max(1, len(all))) // one without a matcher of its own
	programs := 0
	for i, one := range all {
		size, err := promql.Measure(one)
		if programs += size; err == nil && programs > promql.MaxPrograms {
			err = promql.TooLarge("all selectors", programs, promql.MaxPrograms)
		}
		if err == nil {
			parsed[i], err = promql.ParseSelector(one)
		}
		if err != nil {
			return nil, l.notPromQL(err)
		}
	}
	out := make([]string, len(parsed))
	for i, matchers := range parsed {
		for _, e := range enforcers {
			if matchers, err = e.EnforceMatchers(matchers); err != nil {
				return nil, l.notPromQL(err)
			}
		}
		out[i] = (&parser.VectorSelector{LabelMatchers: matchers}).String()
	}
	return out, nil
}

// notPromQL is the error of a query that cannot be limited.
func (l limits) notPromQL(err error) error {
	why := ""
	if l.All {
		why = " (the store has several clusters, so that every query is parsed; MetricsQL is for stores of one)"
	}
	var problems parser.ParseErrors
	if errors.As(err, &problems) && len(problems) > 0 {
		return errcode.New(errcode.Invalid, "the query is not PromQL: %s%s", plain.Line(problems[0].Error(), maxWords), why)
	}
	return errcode.New(errcode.Invalid, "the query cannot be limited to what you see: %s", plain.Line(err.Error(), maxWords))
}
