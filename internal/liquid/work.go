package liquid

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Limits bound the work of one template, for templates that other people wrote and
// that no process of its own renders. With limits, capture does not exist, and ranges
// such as (1..3) are for loops only.
type Limits struct {
	// Steps are passes through loops and calls of filters; a filter that is slow by
	// design, such as genPrivateKey, counts as slowSteps.
	Steps int
	// Bytes are those of the output, and of each text and list on the way.
	Bytes int
}

const slowSteps = 1000

// counter is the filter that counts a pass through a loop. No template needs it.
const counter = "axle_pass"

// Limit bounds the work of each template from now on. Limits must be positive.
func (e *Engine) Limit(l Limits) *Engine {
	e.limits = l
	e.engine.RegisterFilter(counter, func(v any) (any, error) { return v, e.step(1) })
	e.engine.RegisterFilter("concat", func(v, more []any) (any, error) {
		// An entry has at least two words.
		if (len(v)+len(more))*16 > e.limits.Bytes {
			return nil, fmt.Errorf("concat makes a list of more than %d entries", e.limits.Bytes/16)
		}
		return slices.Concat(v, more), nil
	})
	return e
}

// Steps are those of the last template.
func (e *Engine) Steps() int { return e.steps }

// step counts work.
func (e *Engine) step(n int) error {
	if e.steps += n; e.limits.Steps > 0 && e.steps > e.limits.Steps {
		return fmt.Errorf("the template takes more than %d steps", e.limits.Steps)
	}
	return nil
}

// cost is what a call of a filter counts.
func cost(name string) int {
	if strings.HasPrefix(name, "gen") || slices.Contains([]string{"derivePassword", "bcrypt", "htpasswd"}, name) {
		return slowSteps
	}
	return 1
}

// fits returns an error for a value that is too large to go on with.
func (e *Engine) fits(name string, v any) error {
	if e.limits.Bytes == 0 {
		return nil
	}
	size := 0
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.String:
		size = r.Len()
	case reflect.Slice, reflect.Map, reflect.Array:
		size = r.Len() * 16
	}
	if size > e.limits.Bytes {
		return fmt.Errorf("%s makes more than %d bytes", name, e.limits.Bytes)
	}
	return nil
}

var (
	// piece is an output or a tag, as the library scans them.
	piece = regexp.MustCompile(`(?s)\{\{-?\s*(.+?)\s*-?\}\}|\{%-?\s*(\w+)(?:\s+((?:[^%]|%[^}])+?))?\s*-?%\}`)
	// quoted is a text in an expression.
	quoted = regexp.MustCompile(`"[^"]*"|'[^']*'`)
)

// counted returns a template whose loops count their passes. It refuses a range where it
// would be made a list of all its numbers.
func (e *Engine) counted(text []byte) ([]byte, error) {
	if e.limits.Steps == 0 {
		return text, nil
	}
	var out []byte
	last, skipping := 0, ""
	for _, m := range piece.FindAllSubmatchIndex(text, -1) {
		part := func(i int) string {
			if m[i] < 0 {
				return ""
			}
			return string(text[m[i]:m[i+1]])
		}
		name := part(4)
		if skipping != "" {
			if name == "end"+skipping {
				skipping = ""
			}
			continue
		}
		expression := quoted.ReplaceAllString(part(2)+part(6), "")
		refuse := func(why string) ([]byte, error) {
			return nil, &Error{Line: 1 + strings.Count(string(text[:m[0]]), "\n"), Message: "invalid template: " + why}
		}
		switch loop := name == "for" || name == "tablerow"; {
		case name == "capture":
			return refuse("capture cannot be used here; use assign with append")
		case name == "raw" || name == "comment":
			skipping = name
		case strings.Contains(expression, "..") && (!loop || strings.Contains(expression, "|")):
			return refuse("a range can only be looped over here")
		case loop:
			// An assignment writes nothing, so it changes no white space.
			out = append(append(out, text[last:m[1]]...), "{% assign axle_pass = nil | "+counter+" %}"...)
			last = m[1]
		}
	}
	return append(out, text[last:]...), nil
}
