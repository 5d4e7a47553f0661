package health

import (
	"context"
	"errors"
	"runtime/metrics"
	"time"
)

// limit is the context of one run. The machine asks Done before every
// instruction, which makes it the place to count them.
type limit struct {
	context.Context
	steps  int
	closed chan struct{}
	err    error
	until  time.Time
	// alloc is what the process had allocated when the run began.
	alloc  uint64
	sample [1]metrics.Sample
}

// Why a run ended early.
var (
	errSteps = errors.New("it took more than 500,000 instructions")
	errTime  = errors.New("it took more than 500 ms")
	errBytes = errors.New("it used more than 32 MiB of memory")
)

// checkEvery is the number of instructions between looks at clock and memory.
const checkEvery = 128

func newLimit() *limit {
	l := &limit{Context: context.Background(), closed: make(chan struct{}), until: time.Now().Add(maxRunMillis * time.Millisecond)}
	l.sample[0].Name = "/gc/heap/allocs:bytes"
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
	case l.steps > maxSteps:
		l.end(errSteps)
	case l.steps%checkEvery == 0:
		l.check()
	}
	return l.closed
}

// check reads what the whole process allocated: a run is so short that the
// rest of the agent hardly matters, and the figure can only err to the safe
// side.
func (l *limit) check() {
	if time.Now().After(l.until) {
		l.end(errTime)
		return
	}
	metrics.Read(l.sample[:])
	if l.sample[0].Value.Kind() != metrics.KindUint64 {
		return
	}
	now := l.sample[0].Value.Uint64()
	switch {
	case l.alloc == 0:
		l.alloc = now
	case now-l.alloc > maxRunBytes:
		l.end(errBytes)
	}
}

func (l *limit) end(err error) {
	l.err = err
	close(l.closed)
}

// Err says which limit was reached.
func (l *limit) Err() error { return l.err }
