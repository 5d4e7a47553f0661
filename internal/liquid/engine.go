package liquid

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/osteele/liquid"
	"github.com/osteele/liquid/expressions"
	"github.com/osteele/liquid/render"
)

// maxOutput bounds the output of one template, in bytes.
const maxOutput = 32 << 20

// Error is a template that cannot be rendered.
type Error struct {
	Line    int // zero is unknown
	Message string
}

// Error returns the message without a file; the caller knows the file.
func (e *Error) Error() string { return e.Message }

// Engine renders templates with one set of bindings. It is not safe for concurrent use.
type Engine struct {
	// config has the filters of this engine; it is made with the first template.
	config    *render.Config
	bindings  map[string]any
	now       time.Time
	generated bool

	limits Limits
	steps  int
	// pieces are the parts of the present template that do something, and wide what its
	// dearest value makes one of them cost; see widest.
	pieces, wide int
	// live are the variables of the present template.
	live map[string]any
}

// New returns an engine. Bindings are the variables that templates see; now is their
// present time.
func New(bindings map[string]any, now time.Time) *Engine {
	return &Engine{bindings: bindings, now: now}
}

// Bindings are the variables that templates see; they must not be changed.
func (e *Engine) Bindings() map[string]any { return e.bindings }

// Generated reports whether a template used a filter whose result differs each time,
// such as a random text.
func (e *Engine) Generated() bool { return e.generated }

// Check returns the *Error of a template that cannot be parsed.
func (e *Engine) Check(text []byte) (err error) {
	defer recovered(&err)
	_, err = parse(text, e.limited())
	return err
}

// Render returns the rendered text; its error is an *Error.
func (e *Engine) Render(text []byte) (out []byte, err error) {
	// A template must not be able to end the program with a value that the library
	// does not expect.
	defer func() {
		if err != nil {
			out = nil
		}
	}()
	defer recovered(&err)
	e.register()
	// Filters such as set change maps in place, so they get copies: one file's
	// template must not change what the next one sees.
	bindings, _ := deepCopy(e.bindings).(map[string]any)
	if bindings == nil {
		bindings = map[string]any{}
	}
	template, err := e.begin(text, bindings)
	if err != nil {
		return nil, err
	}
	to := bounded{most: maxOutput}
	if e.limits.Bytes > 0 {
		to.most = e.limits.Bytes
	}
	if bad := render.Render(template, &to, bindings, *e.config); bad != nil {
		return nil, toError(bad)
	}
	if to.full {
		return nil, &Error{Message: to.tooLong().Error()}
	}
	return to.text, nil
}

// recovered makes an error of a panic.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = &Error{Message: fmt.Sprintf("invalid template: %v", r)}
	}
}

// bounded keeps what is written to it, up to most bytes.
type bounded struct {
	text []byte
	most int
	full bool
}

func (b *bounded) tooLong() error {
	if b.most < 1<<20 {
		return fmt.Errorf("the template's output is larger than %d KiB", b.most>>10)
	}
	return fmt.Errorf("the template's output is larger than %d MiB", b.most>>20)
}

// Write fails if the text becomes too long.
func (b *bounded) Write(p []byte) (int, error) {
	if b.full || len(b.text)+len(p) > b.most {
		b.full = true
		return 0, b.tooLong()
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

// deepCopy copies maps and lists; all other values are immutable.
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

// toError extracts the line from the engine's error.
func toError(err liquid.SourceError) *Error {
	message := err.Error()
	if cause := err.Cause(); cause != nil && cause.Error() != "" {
		message = cause.Error()
	}
	var bad expressions.FilterError
	if errors.As(err.Cause(), &bad) {
		message = bad.FilterName + ": " + bad.Err.Error()
	}
	message = strings.TrimPrefix(message, "Liquid error: ")
	// The library adds a stack trace of its own code.
	message, _, _ = strings.Cut(message, "\nOriginal stacktrace")
	return &Error{Line: err.LineNumber(), Message: "invalid template: " + message}
}

// noInclude rejects reading other files.
func noInclude(io.Writer, render.Context) error {
	return errors.New("include is not available; put shared text into a variable with capture")
}
