// Package promql parses PromQL that people and dashboards write, for the hub and the axle command.
//
// Prometheus's parser compiles the regular expressions of matchers while it parses, and calls
// itself for what is nested. Invariants:
//   - How large the programs of all matchers of a query become, and how deep it is nested, is known
//     before the parser sees it; above MaxPrograms and maxNesting it is refused.
//   - Nothing else of the hub calls that parser, or makes a matcher of text of others: a test of
//     internal/archtest holds that.
package promql

import (
	"errors"
	"fmt"
	"regexp/syntax"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/strutil"

	"github.com/axle-cd/axle/internal/cost"
)

const (
	// MaxQuery bounds a query, in bytes.
	MaxQuery = 16 << 10
	// MaxPrograms bounds the programs of all regular expressions of a query, in instructions.
	MaxPrograms = 5_000
	// maxNesting bounds brackets that are open at once, and signs in a row.
	maxNesting = 200
)

// Parse parses a query.
func Parse(text string) (parser.Expr, error) {
	if err := check(text); err != nil {
		return nil, err
	}
	return parser.ParseExpr(text)
}

// ParseSelector parses the selector of a series.
func ParseSelector(text string) ([]*labels.Matcher, error) {
	if err := check(text); err != nil {
		return nil, err
	}
	return parser.ParseMetricSelector(text)
}

// Matcher makes a matcher. size is that of its program.
func Matcher(of labels.MatchType, name, value string) (m *labels.Matcher, size int, err error) {
	if of == labels.MatchRegexp || of == labels.MatchNotRegexp {
		if size, err = measured(value); err != nil {
			return nil, 0, err
		}
	}
	m, err = labels.NewMatcher(of, name, value)
	return m, size, err
}

func check(text string) error {
	size, err := Measure(text)
	if err == nil && size > MaxPrograms {
		err = TooLarge("the query", size, MaxPrograms)
	}
	return err
}

// TooLarge is the error of regular expressions that are not compiled.
func TooLarge(whose string, size, most int) error {
	return fmt.Errorf("the regular expressions of %s need %d instructions, and at most %d are allowed; use fewer or shorter repetitions", whose, size, most)
}

// Measure returns how many instructions the regular expressions of a query need together. An
// error is that of one that is no regular expression or too large, or of a query that is too long
// or nested too deep.
func Measure(text string) (size int, err error) {
	if len(text) > MaxQuery {
		return 0, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), MaxQuery)
	}
	lexer, pattern, open, signs := parser.Lex(text), false, 0, 0
	for {
		var item parser.Item
		lexer.NextItem(&item)
		switch item.Typ {
		case parser.EOF, parser.ERROR:
			return size, nil // the parser stops there too
		case parser.COMMENT:
			continue
		case parser.LEFT_PAREN, parser.LEFT_BRACKET, parser.LEFT_BRACE:
			open++
		case parser.RIGHT_PAREN, parser.RIGHT_BRACKET, parser.RIGHT_BRACE:
			open--
		case parser.ADD, parser.SUB:
			signs++
		case parser.STRING:
			if pattern {
				n, err := measure(item.Val)
				if err != nil {
					return 0, err
				}
				size += n
			}
		}
		if item.Typ != parser.ADD && item.Typ != parser.SUB {
			signs = 0
		}
		if open > maxNesting || signs > maxNesting {
			return 0, fmt.Errorf("it is nested more than %d times", maxNesting)
		}
		pattern = item.Typ == parser.EQL_REGEX || item.Typ == parser.NEQ_REGEX
	}
}

// measure is cost.Measure for a string as it stands in a query.
func measure(literal string) (int, error) {
	value, err := strutil.Unquote(literal)
	if err != nil {
		return 0, nil // the parser refuses it
	}
	return measured(value)
}

func measured(value string) (int, error) {
	// A matcher is anchored, which may make an expression of what is none by itself: a)(b.
	for _, text := range []string{value, "^(?s:" + value + ")$"} {
		var problem *syntax.Error
		size, err := cost.Measure(text)
		if !errors.As(err, &problem) {
			return size, err
		}
	}
	return 0, nil // the parser refuses this too
}
