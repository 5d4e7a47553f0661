package luabox

import (
	"context"
	"errors"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/yuin/gopher-lua"
)

// Why a run was ended.
var (
	ErrSteps = errors.New("the script takes too many instructions; it may loop without end")
	ErrTime  = errors.New("the script takes too long")
	ErrBytes = errors.New("the script uses too much memory")
)

// Error is what a script, or the machine over it, said.
type Error struct {
	// Message is one line, with the chunk's name and the line where it failed.
	Message string
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// failure keeps an error's first line: the rest is a stack.
func failure(err error) error {
	message := err.Error()
	var api *lua.ApiError
	if errors.As(err, &api) && api.Type == lua.ApiErrorRun && api.Object != nil && api.Object != lua.LNil {
		message = api.Object.String()
	}
	message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	return &Error{Message: message}
}

// lookEvery is the number of instructions between looks at clock and memory.
// bigText is the length of a text after which the next instruction looks.
const (
	lookEvery = 32
	bigText   = 4 << 10
)

// limit is the context of a box. The machine asks Done before every
// instruction, which makes it the place to count them.
type limit struct {
	context.Context
	limits Limits
	until  time.Time
	steps  int
	// patterns are the steps of patterns; at clock of them the time is read.
	patterns, clock int
	// look is the step of the next look, start and last what the meter said at
	// first and then.
	look        int
	start, last uint64
	closed      chan struct{}
	err         error
	sample      [1]metrics.Sample
}

func newLimit(limits Limits) *limit {
	l := &limit{Context: context.Background(), limits: limits, until: time.Now().Add(limits.Time), look: lookEvery, closed: make(chan struct{})}
	l.sample[0].Name = "/gc/heap/allocs:bytes"
	if limits.Held {
		l.sample[0].Name = "/memory/classes/heap/objects:bytes"
	}
	l.start = l.read()
	l.last = l.start
	return l
}

// Done is closed for good once a limit is reached, so that a script cannot
// catch the error and go on.
func (l *limit) Done() <-chan struct{} {
	if l.err != nil {
		return l.closed
	}
	l.steps++
	switch {
	case l.steps > l.limits.Steps:
		l.end(ErrSteps)
	case l.steps >= l.look:
		l.check()
	}
	return l.closed
}

func (l *limit) check() {
	now := l.read()
	l.look = l.steps + lookEvery
	if now > l.last+l.limits.Bytes/256 {
		l.look = l.steps + 1
	}
	l.last = now
	switch {
	case now > l.start+l.limits.Bytes:
		l.end(ErrBytes)
	case time.Now().After(l.until):
		l.end(ErrTime)
	}
}

// made says that a text was made, before the next instruction may make more.
func (l *limit) made(bytes int) {
	if l != nil && bytes >= bigText {
		l.look = 0
	}
}

func (l *limit) read() uint64 {
	metrics.Read(l.sample[:])
	if l.sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return l.sample[0].Value.Uint64()
}

func (l *limit) end(err error) {
	l.err = err
	close(l.closed)
}

// Err says which limit was reached.
func (l *limit) Err() error { return l.err }
