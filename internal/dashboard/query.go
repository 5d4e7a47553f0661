package dashboard

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/axle-cd/axle/internal/promql"
)

// variable is $name or ${name}; the groups of a regular expression, as $1, are none.
var variable = regexp.MustCompile(`\$(?:\{([a-zA-Z_][a-zA-Z0-9_]*)\}|([a-zA-Z_][a-zA-Z0-9_]*))`)

// formatted is a variable with a format of other tools. A value is put in as its matcher needs it.
var formatted = regexp.MustCompile(`\$\{[a-zA-Z_][a-zA-Z0-9_]*:[a-z]+\}`)

func nameIn(match []string) string { return match[1] + match[2] }

// query is one that was parsed, with the variables that its matchers take.
type query struct {
	text  string
	takes []string
}

// parse checks a query for the names of variables that it may take.
func parse(text string, names []string) (*query, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errors.New("it is empty")
	case len(text) > maxQueryLength:
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), maxQueryLength)
	}
	expression, err := promql.Parse(text)
	if err != nil {
		return nil, notPromQL(text, err)
	}
	q := &query{text: text}
	err = eachMatcher(expression, func(at string, m *labels.Matcher) error {
		if other := formatted.FindString(m.Value); other != "" {
			return fmt.Errorf("%s: %s has a format; leave it out, as a value always fits its matcher", at, cut(other, 60))
		}
		for _, match := range variable.FindAllStringSubmatch(m.Value, -1) {
			name := nameIn(match)
			if !slices.Contains(names, name) {
				return fmt.Errorf("%s: $%s is no variable%s", at, cut(name, 60), known(names))
			}
			if !slices.Contains(q.takes, name) {
				q.takes = append(q.takes, name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return q, elsewhere(expression, text, names)
}

func known(names []string) string {
	if len(names) == 0 {
		return "; there are none"
	}
	return " that it may take, which are $" + strings.Join(names, ", $")
}

// notPromQL is the error of a query that does not parse. The parser does not know variables: one
// outside of a string is the usual reason.
func notPromQL(text string, err error) error {
	var all parser.ParseErrors
	if !errors.As(err, &all) || len(all) == 0 {
		return err
	}
	first := all[0]
	at := int(first.PositionRange.Start)
	if at >= 0 && at < len(text) {
		// The lexer stops behind the $.
		for _, from := range []int{at, max(0, at-1)} {
			loc := variable.FindStringIndex(text[from:])
			if loc == nil || loc[0] != 0 {
				loc = formatted.FindStringIndex(text[from:])
			}
			if loc != nil && loc[0] == 0 {
				return fmt.Errorf("%s: %s stands outside the value of a matcher; a variable can only stand in one, as in {pod=\"$pod\"}", position(text, from), cut(text[from:from+loc[1]], 60))
			}
		}
	}
	return fmt.Errorf("%s: %w", position(text, at), first.Err)
}

// position is a line and a column, as people count.
func position(text string, at int) string {
	at = max(0, min(at, len(text)))
	before := text[:at]
	line := strings.Count(before, "\n") + 1
	return fmt.Sprintf("%d:%d", line, at-strings.LastIndex(before, "\n"))
}

// eachMatcher calls for the matchers of all selectors.
func eachMatcher(expression parser.Expr, do func(at string, m *labels.Matcher) error) error {
	var failed error
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		selector, is := node.(*parser.VectorSelector)
		if !is || failed != nil {
			return failed
		}
		for _, m := range selector.LabelMatchers {
			if failed = do(fmt.Sprintf("the matcher of %s", cut(m.Name, 60)), m); failed != nil {
				return failed
			}
		}
		return nil
	})
	return failed
}

// elsewhere refuses a variable in another string, where it would stay as it is.
func elsewhere(expression parser.Expr, text string, names []string) error {
	var failed error
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		literal, is := node.(*parser.StringLiteral)
		if !is || failed != nil {
			return failed
		}
		for _, match := range variable.FindAllStringSubmatch(literal.Val, -1) {
			if slices.Contains(names, nameIn(match)) {
				failed = fmt.Errorf("%s: %s stands in a string that is not the value of a matcher; a variable can only stand in one", position(text, int(literal.PosRange.Start)), match[0])
				return failed
			}
		}
		return nil
	})
	return failed
}

// with returns the query with the values of its variables: in a matcher of a regular expression,
// as text that matches itself. A value is never read as PromQL or as a variable. What becomes of
// it is bounded, and charged to the drawing.
func (q *query) with(values map[string]string, spent *meter) (string, error) {
	if len(q.takes) == 0 {
		return q.text, nil
	}
	expression, err := promql.Parse(q.text)
	if err != nil {
		return "", notPromQL(q.text, err)
	}
	length := len(q.text)
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		selector, is := node.(*parser.VectorSelector)
		if !is || err != nil {
			return err
		}
		for i, m := range selector.LabelMatchers {
			if !variable.MatchString(m.Value) {
				continue
			}
			var size int
			var replaced *labels.Matcher
			value, grows := filled(m, values, promql.MaxQuery-length)
			if grows {
				err = fmt.Errorf("with the values of its variables it has more than %d bytes", promql.MaxQuery)
			} else if replaced, size, err = promql.Matcher(m.Type, m.Name, value); err == nil {
				err = spent.add(size)
			}
			if err != nil {
				err = fmt.Errorf("the matcher of %s: %w", cut(m.Name, 60), err)
				return err
			}
			length += len(value)
			selector.LabelMatchers[i] = replaced
		}
		return nil
	})
	return expression.String(), err
}

// filled is the value of a matcher with those of its variables, unless that is longer than most.
func filled(m *labels.Matcher, values map[string]string, most int) (value string, tooLong bool) {
	pattern := m.Type == labels.MatchRegexp || m.Type == labels.MatchNotRegexp
	value = variable.ReplaceAllStringFunc(m.Value, func(found string) string {
		v := values[nameIn(variable.FindStringSubmatch(found))]
		if pattern {
			v = regexp.QuoteMeta(v)
		}
		if most -= len(v); most < 0 {
			return ""
		}
		return v
	})
	return value, most < 0
}

// meter counts the instructions of the regular expressions of a drawing.
type meter struct{ spent atomic.Int64 }

func (m *meter) add(size int) error {
	if spent := m.spent.Add(int64(size)); spent > programsOfDrawing {
		return promql.TooLarge("all queries of the drawing", int(spent), programsOfDrawing)
	}
	return nil
}
