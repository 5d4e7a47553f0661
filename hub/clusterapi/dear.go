package clusterapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/axle-cd/axle/internal/cost"
)

// A schema is a program of whoever wrote the template, and the library bounds none of it: it
// compiles expressions of any size, follows a reference as often as it is reached, and computes
// numbers with all their digits. What it would take is known before it is asked.
const (
	// maxPatterns bounds the expressions of a schema, in instructions. The library compiles each
	// twice.
	maxPatterns = 20_000
	// maxExpanded bounds a schema with a copy for each reference, in schemas.
	maxExpanded = 10_000
	// maxTried bounds how many schemas are tried on values.
	maxTried = 2_000_000
	// maxValues bounds the values of a cluster with the defaults of its template, of which ofText
	// bytes of a text are one: about 3 MiB.
	maxValues, ofText = 50_000, 64
	// maxDigits bounds a number, and how many zeros its exponent adds.
	maxDigits, maxExponent = 100, 400
)

// expressions is an engine of regular expressions for one schema, and what was compiled.
type expressions struct{ spent int }

func (e *expressions) compile(text string) (jsonschema.Regexp, error) {
	p, err := cost.Compile(text)
	if err != nil {
		return nil, err
	}
	if e.spent += p.Size(); e.spent > maxPatterns {
		return nil, fmt.Errorf("the regular expressions of the schema need more than %d instructions together; use fewer or shorter repetitions", maxPatterns/2)
	}
	return expression{p}, nil
}

// expression matches no text that is too long for it.
type expression struct{ *cost.Pattern }

// MatchString implements jsonschema.Regexp.
func (e expression) MatchString(text string) bool {
	found, _, err := e.Match(text, cost.Budget)
	return err == nil && found
}

// expansion counts the schemas that one schema tries, with those that it refers to.
type expansion struct {
	sizes map[*jsonschema.Schema]int
}

// size is that of a schema. A reference that leads back to itself, or one that is found only
// while a value is checked, is refused: nothing bounds how often it is followed.
func (x *expansion) size(s *jsonschema.Schema) (int, error) {
	if s == nil {
		return 0, nil
	}
	switch known, seen := x.sizes[s]; {
	case seen && known == 0:
		return 0, fmt.Errorf("%s refers to itself; write out as many levels as there are", place(s))
	case seen:
		return known, nil
	case s.DynamicRef != nil || s.RecursiveRef != nil:
		return 0, fmt.Errorf("%s has a dynamic reference; use $ref", place(s))
	}
	x.sizes[s] = 0
	total := 1
	for _, sub := range subschemas(s) {
		n, err := x.size(sub)
		if err != nil {
			return 0, err
		}
		if total += n; total > maxExpanded {
			return 0, fmt.Errorf("with a copy for each reference it has more than %d schemas: refer to less, or fewer times", maxExpanded)
		}
	}
	x.sizes[s] = total
	return total, nil
}

func place(s *jsonschema.Schema) string {
	_, at, _ := strings.Cut(s.Location, "#")
	return "#" + at
}

// subschemas are those that a schema may try.
func subschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{
		s.Ref, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema,
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		all = append(all, list...)
	}
	add := func(v any) {
		switch v := v.(type) {
		case *jsonschema.Schema:
			all = append(all, v)
		case []*jsonschema.Schema:
			all = append(all, v...)
		}
	}
	add(s.AdditionalProperties)
	add(s.AdditionalItems)
	add(s.Items)
	for _, sub := range s.Properties {
		all = append(all, sub)
	}
	for _, sub := range s.PatternProperties {
		all = append(all, sub)
	}
	for _, sub := range s.DependentSchemas {
		all = append(all, sub)
	}
	for _, sub := range s.Dependencies {
		add(sub)
	}
	return all
}

var errNumber = errors.New("a number is too long")

// plainNumbers refuses numbers that take long to compute, and counts the values. A long text
// counts as several.
func plainNumbers(v any) (values int, err error) {
	values = 1
	add := func(of any) {
		n, problem := plainNumbers(of)
		if values += n; err == nil {
			err = problem
		}
	}
	switch v := v.(type) {
	case string:
		values += len(v) / ofText
	case json.Number:
		_, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e")
		n, problem := strconv.Atoi(exponent)
		if len(v) > maxDigits || exponent != "" && (problem != nil || n > maxExponent || n < -maxExponent) {
			return 1, fmt.Errorf("%w: %.40s; at most %d characters and exponents up to %d are read", errNumber, v, maxDigits, maxExponent)
		}
	case map[string]any:
		for name, one := range v {
			values += len(name) / ofText
			add(one)
		}
	case []any:
		for _, one := range v {
			add(one)
		}
	}
	return values, err
}
