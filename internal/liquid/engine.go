package liquid

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/osteele/liquid"
	"github.com/osteele/liquid/expressions"
	"github.com/osteele/liquid/render"
)

// maxOutput bounds what one template writes.
const maxOutput = 32 << 20

// Error is a template that cannot be rendered.
type Error struct {
	Line    int // zero is unknown
	Message string
}

// Error is the message alone; the caller knows the file.
func (e *Error) Error() string { return e.Message }

// Engine renders templates with one set of bindings.
type Engine struct {
	engine    *liquid.Engine
	bindings  map[string]any
	now       time.Time
	generated bool
}

// New returns an engine. Bindings are what templates see by name; now is what
// "now" means to them.
func New(bindings map[string]any, now time.Time) *Engine {
	e := &Engine{engine: liquid.NewEngine(), bindings: bindings, now: now}
	// The library's own include reads the disk.
	e.engine.RegisterTag("include", noInclude)
	e.register()
	return e
}

// Bindings are what templates see by name; they are not to be changed.
func (e *Engine) Bindings() map[string]any { return e.bindings }

// Generated reports whether a template used a filter whose result differs each
// time, such as a random text.
func (e *Engine) Generated() bool { return e.generated }

// Render returns the rendered text; its error is an *Error.
func (e *Engine) Render(text []byte) (out []byte, err error) {
	// A template must not be able to end the program by a value the library
	// did not think of.
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, &Error{Message: fmt.Sprintf("invalid template: %v", r)}
		}
	}()
	template, bad := e.engine.ParseTemplateLocation(text, "", 1)
	if bad != nil {
		return nil, toError(bad)
	}
	// Filters such as set change maps in place: they get copies, so that one
	// file's template does not change what the next one sees.
	bindings, _ := deepCopy(e.bindings).(map[string]any)
	var to bounded
	if bad := template.FRender(&to, liquid.Bindings(bindings)); bad != nil {
		return nil, toError(bad)
	}
	if to.full {
		return nil, &Error{Message: errTooLong.Error()}
	}
	return to.text, nil
}

var errTooLong = fmt.Errorf("the template writes more than %d MiB", maxOutput>>20)

// bounded keeps what is written to it up to maxOutput.
type bounded struct {
	text []byte
	full bool
}

// Write fails when the text becomes too long.
func (b *bounded) Write(p []byte) (int, error) {
	if b.full || len(b.text)+len(p) > maxOutput {
		b.full = true
		return 0, errTooLong
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

// deepCopy copies maps and lists; everything else cannot be changed.
func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = deepCopy(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = deepCopy(value)
		}
		return out
	}
	return v
}

// toError takes the line out of the engine's error.
func toError(err liquid.SourceError) error {
	message := err.Error()
	if cause := err.Cause(); cause != nil && cause.Error() != "" {
		message = cause.Error()
	}
	var bad expressions.FilterError
	if errors.As(err.Cause(), &bad) {
		message = bad.FilterName + ": " + bad.Err.Error()
	}
	message = strings.TrimPrefix(message, "Liquid error: ")
	// The library adds where in its own code it was surprised.
	message, _, _ = strings.Cut(message, "\nOriginal stacktrace")
	return &Error{Line: err.LineNumber(), Message: "invalid template: " + message}
}

// noInclude refuses to read other files.
func noInclude(render.Context) (string, error) {
	return "", errors.New("include is not available; put shared text into a variable with capture")
}
