package liquid

import (
	"errors"
	"strings"
	"time"

	"github.com/osteele/liquid"
	"github.com/osteele/liquid/render"
)

// Error is a template that cannot be rendered.
type Error struct {
	Line    int // zero is unknown
	Message string
}

// Error is the message alone; the caller knows the file.
func (e *Error) Error() string { return e.Message }

// Engine renders templates with one set of bindings.
type Engine struct {
	engine   *liquid.Engine
	bindings liquid.Bindings
}

// New returns an engine. Bindings are what templates see by name; now is what
// "now" means to them.
func New(bindings map[string]any, now time.Time) *Engine {
	engine := liquid.NewEngine()
	// The library's own include reads the disk.
	engine.RegisterTag("include", noInclude)
	register(engine, now)
	return &Engine{engine: engine, bindings: liquid.Bindings(bindings)}
}

// Render returns the rendered text; its error is an *Error.
func (e *Engine) Render(text []byte) ([]byte, error) {
	template, err := e.engine.ParseTemplateLocation(text, "", 1)
	if err != nil {
		return nil, toError(err)
	}
	out, err := template.Render(e.bindings)
	if err != nil {
		return nil, toError(err)
	}
	return out, nil
}

// toError takes the line out of the engine's error.
func toError(err liquid.SourceError) error {
	message := err.Error()
	if cause := err.Cause(); cause != nil && cause.Error() != "" {
		message = cause.Error()
	}
	message = strings.TrimPrefix(message, "Liquid error: ")
	return &Error{Line: err.LineNumber(), Message: "invalid template: " + message}
}

// noInclude refuses to read other files.
func noInclude(render.Context) (string, error) {
	return "", errors.New("include is not available; put shared text into a variable with capture")
}
