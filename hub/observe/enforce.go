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

// matcher is what every selector gets. It is a regular expression even for one namespace: an
// equal matcher would take the place of the one in the query, which would then answer about
// another namespace than it says.
func (n Namespaces) matcher(label string) (*labels.Matcher, error) {
	m, err := labels.NewMatcher(labels.MatchRegexp, label, n.Pattern())
	if err != nil {
		return nil, errcode.New(errcode.Internal, "the pattern of namespaces: %w", err)
	}
	return m, nil
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

// PromQL limits a query to the namespaces. A query of somebody who sees all of them is
// returned as it is, without being parsed: it may be of a dialect.
func (n Namespaces) PromQL(query, label string) (string, error) {
	if err := checkQuery(query); err != nil || n.All {
		return query, err
	}
	m, err := n.matcher(label)
	if err != nil {
		return "", err
	}
	expression, err := promql.Parse(query)
	if err != nil {
		return "", notPromQL(err)
	}
	if err := checkSize(expression, len(m.Value)); err != nil {
		return "", err
	}
	if err := injectproxy.NewPromQLEnforcer(false, m).EnforceNode(expression); err != nil {
		return "", notPromQL(err)
	}
	return expression.String(), nil
}

// Selectors limits selectors of series to the namespaces. Without any, one that has only the
// limit is returned; with all namespaces they are as they are.
func (n Namespaces) Selectors(all []string, label string) ([]string, error) {
	if n.All {
		for _, one := range all {
			if err := checkQuery(one); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	m, err := n.matcher(label)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return []string{(&parser.VectorSelector{LabelMatchers: []*labels.Matcher{m}}).String()}, nil
	}
	enforcer := injectproxy.NewPromQLEnforcer(false, m)
	out, programs := make([]string, len(all)), 0
	for i, one := range all {
		if err := checkQuery(one); err != nil {
			return nil, err
		}
		size, err := promql.Measure(one)
		if programs += size; err == nil && programs > promql.MaxPrograms {
			err = promql.TooLarge("all selectors", programs, promql.MaxPrograms)
		}
		if err != nil {
			return nil, notPromQL(err)
		}
		matchers, err := promql.ParseSelector(one)
		if err == nil {
			matchers, err = enforcer.EnforceMatchers(matchers)
		}
		if err != nil {
			return nil, notPromQL(err)
		}
		out[i] = (&parser.VectorSelector{LabelMatchers: matchers}).String()
	}
	return out, nil
}

// notPromQL is the error of a query that cannot be limited.
func notPromQL(err error) error {
	var problems parser.ParseErrors
	if errors.As(err, &problems) && len(problems) > 0 {
		return errcode.New(errcode.Invalid, "the query is not PromQL: %s", plain.Line(problems[0].Error(), maxWords))
	}
	return errcode.New(errcode.Invalid, "the query cannot be limited to your namespaces: %s", plain.Line(err.Error(), maxWords))
}
