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

// Error is an error of a script, or of Lua about it.
type Error struct {
	// Message is one line, with the chunk's name and the line where it failed.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// failure keeps an error's first line: the rest is a stack trace.
func failure(err error) error {
	message := err.Error()
	var api *lua.ApiError
	if errors.As(err, &api) && api.Type == lua.ApiErrorRun && api.Object != nil && api.Object != lua.LNil {
		message = api.Object.String()
	}
	message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	return &Error{Message: message}
}

// lookEvery is the number of instructions between checks of time and memory. After a
// string of bigText bytes, the next instruction checks.
const (
	lookEvery = 32
	bigText   = 4 << 10
)

// limit is the context of a box. Lua calls Done before every instruction, which makes
// it the place to count them.
type limit struct {
	context.Context
	limits Limits
	until  time.Time
	steps  int
	// patterns are the steps of patterns; when they reach clock, the time is checked.
	patterns, clock int
	// look is the step of the next check; start and last are the memory readings at
	// the beginning and at the last check.
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

// Done is closed permanently once a limit is reached, so that a script cannot catch
// the error and continue.
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

// made is called after a string was made, before the next instruction can make more.
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

// Err returns the limit that was reached.
func (l *limit) Err() error { return l.err }
