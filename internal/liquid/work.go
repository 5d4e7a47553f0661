package liquid

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/osteele/liquid/parser"
	"github.com/osteele/liquid/render"
	"github.com/osteele/liquid/tags"

	"github.com/axle-cd/axle/internal/cost"
)

// Limits bound the work of an engine, for templates that other people wrote and that no
// process of its own renders. With limits, capture does not exist, and ranges such as
// (1..3) are for loops only.
type Limits struct {
	// Steps are those of all templates of the engine together, about 5 µs each: a pass
	// through a loop, a call of a filter, and what a filter reads and makes; see
	// package cost. A filter that is slow by design, such as genPrivateKey, counts as 1000.
	Steps int
	// Bytes are those of the output, and of each text and list on the way.
	Bytes int
	// Slow permits filters that are slow by design, up to seconds.
	Slow bool
	// Repeatable refuses filters whose result differs each time.
	Repeatable bool
	// Stop, if set, is asked between two steps. Its error ends the template.
	Stop func() error
}

// counter is the filter that counts a pass through a loop. No template needs it.
const counter = "axle_pass"

// Limit bounds the work of the engine. It is called before the first template. Limits
// must be positive.
func (e *Engine) Limit(l Limits) *Engine {
	e.limits = l
	e.register()
	e.config.AddFilter(counter, func(v any) (any, error) {
		own, _ := v.(int)
		return nil, e.step(1 + max(own, 0)/16 + max(own, 0)*e.wide)
	})
	return e
}

func (e *Engine) limited() bool { return e.limits.Steps > 0 }

// With returns the engine with other bindings, and all its steps left.
func (e *Engine) With(bindings map[string]any) *Engine {
	e.bindings, e.steps, e.generated = bindings, 0, false
	return e
}

// Steps are those of the templates so far.
func (e *Engine) Steps() int { return e.steps }

func (e *Engine) left() int { return max(e.limits.Steps-e.steps, 1) }

// step counts work before it is done.
func (e *Engine) step(n int) error {
	if !e.limited() {
		return nil
	}
	if e.limits.Stop != nil {
		if err := e.limits.Stop(); err != nil {
			return fmt.Errorf("the template takes too long: %w", err)
		}
	}
	if e.steps += n; e.steps > e.limits.Steps {
		return fmt.Errorf("the template takes more than %d steps", e.limits.Steps)
	}
	return nil
}

// grew charges for all that the present pass still does with the dearest value so far.
func (e *Engine) grew(widest int) error {
	more := widest>>11 - e.wide
	if more <= 0 {
		return nil
	}
	e.wide += more
	return e.step(more * e.pieces)
}

// begin parses a template, and charges for that and for what it does at least.
func (e *Engine) begin(text []byte, bindings map[string]any) (render.Node, error) {
	p, err := parse(text, e.limited())
	if err != nil || !e.limited() {
		return p.node, err
	}
	e.pieces, e.wide, e.live = p.pieces, 0, bindings
	w, ok := weigh(bindings, maxBindings)
	if !ok {
		return nil, &Error{Message: fmt.Sprintf("the variables have more than %d bytes", maxBindings)}
	}
	err = e.step(len(text)/64 + p.pieces/16 + w.bytes/4096)
	if err == nil {
		err = e.grew(w.widest)
	}
	if err != nil {
		return nil, &Error{Message: "invalid template: " + err.Error()}
	}
	return p.node, nil
}

const (
	// maxBindings is the weight of the variables of a template with limits.
	maxBindings = 8 << 20
	// keptTexts is how much text of templates is kept parsed.
	keptTexts = 512 << 10
)

// parsed is a template that is ready to be rendered, by any engine.
type parsed struct {
	node   render.Node
	pieces int
}

type source struct {
	text    string
	limited bool
}

var (
	templates = cost.NewCache[source, parsed](keptTexts)
	// language has the tags, which are the same in all engines.
	language = func() render.Config {
		config := render.NewConfig()
		tags.AddStandardTags(config)
		// The library's own include reads the disk.
		config.AddTag("include", func(string) (func(io.Writer, render.Context) error, error) { return noInclude, nil })
		return config
	}()
)

// parse returns a template, parsed once as long as it is used.
func parse(text []byte, limited bool) (parsed, error) {
	key := source{string(text), limited}
	if p, ok := templates.Get(key); ok {
		return p, nil
	}
	p := parsed{}
	if limited {
		var err error
		if text, p.pieces, err = counted(text); err != nil {
			return parsed{}, err
		}
	}
	node, bad := language.Compile(string(text), parser.SourceLoc{LineNo: 1})
	if bad != nil {
		return parsed{}, toError(bad)
	}
	p.node = node
	if !bytes.Contains(text, []byte("cycle")) { // which writes to a variable of its own
		templates.Put(key, p, len(text)+256)
	}
	return p, nil
}

var (
	// piece is an output or a tag, as the library scans them.
	piece = regexp.MustCompile(`(?s)\{\{-?\s*(.+?)\s*-?\}\}|\{%-?\s*(\w+)(?:\s+((?:[^%]|%[^}])+?))?\s*-?%\}`)
	// quoted is a text in an expression.
	quoted = regexp.MustCompile(`"[^"]*"|'[^']*'`)
)

// counting makes a template whose loops count their passes.
type counting struct {
	text []byte
	// parts are the template; loops are the indexes of those that count the pass of a
	// loop which is not closed yet, with the pieces in it.
	parts  [][]byte
	loops  []loop
	pieces int
	last   int
}

type loop struct{ part, pieces int }

// counted returns a template whose loops count their passes, and its number of pieces. It
// refuses a range where it would be made a list of all its numbers.
func counted(text []byte) ([]byte, int, error) {
	c := counting{text: text}
	skipping := ""
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
		if name == "raw" || name == "comment" {
			skipping = name
			continue
		}
		if why := c.see(name, part(2)+part(6), m[1]); why != "" {
			return nil, 0, &Error{Line: 1 + strings.Count(string(text[:m[0]]), "\n"), Message: "invalid template: " + why}
		}
	}
	for len(c.loops) > 0 {
		c.close()
	}
	return bytes.Join(append(c.parts, text[c.last:]), nil), c.pieces, nil
}

// see counts a piece that ends at an offset, or says why it is refused.
func (c *counting) see(name, expression string, end int) (refused string) {
	// A long expression compares many times.
	size := 1 + len(expression)/16
	if c.pieces += size; len(c.loops) > 0 {
		c.loops[len(c.loops)-1].pieces += size
	}
	expression = quoted.ReplaceAllString(expression, "")
	switch isLoop := name == "for" || name == "tablerow"; {
	case name == "capture":
		return "capture cannot be used here; use assign with append"
	case strings.Contains(expression, "..") && (!isLoop || strings.Contains(expression, "|")):
		return "a range can only be looped over here"
	case isLoop:
		c.parts = append(c.parts, c.text[c.last:end], nil)
		c.loops = append(c.loops, loop{part: len(c.parts) - 1})
		c.last = end
	case (name == "endfor" || name == "endtablerow") && len(c.loops) > 0:
		c.close()
	}
	return ""
}

// close writes the counter of the innermost loop. An assignment writes nothing, so it
// changes no white space.
func (c *counting) close() {
	last := len(c.loops) - 1
	l := c.loops[last]
	c.parts[l.part] = []byte("{% assign axle_pass = " + strconv.Itoa(l.pieces) + " | " + counter + " %}")
	c.loops = c.loops[:last]
}
