package podlogs

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// batchLines and batchBytes bound one Batch.
	batchLines = 500
	batchBytes = 256 << 10
	// waitLines and waitBytes bound what waits while one follows.
	waitLines = 5_000
	waitBytes = 4 << 20
	// gather is how long lines are gathered, so that those of several containers can be
	// put into their order.
	gather = 100 * time.Millisecond
	// beat is how often something is sent, if only to say that the search goes on.
	beat = 15 * time.Second
)

// Batch is what is sent at once.
type Batch struct {
	Lines []Line
	// Dropped are lines that are lost since the last batch.
	Dropped int64
	Notices []Notice
	// Sources are those that are read from now on; nil is no change.
	Sources []Source
}

// Notice says something about the search. Codes are: capped, waiting, interrupted,
// resumed, gap, refused, left_out.
type Notice struct{ Code, Text string }

// Outlet sends lines that come by themselves, as a store's do: dropped and counted when
// they come too fast.
type Outlet struct{ o *outlet }

// NewOutlet returns an Outlet for one Run.
func NewOutlet() Outlet { return Outlet{newOutlet()} }

// Run calls read, which gives lines, and sends them until read returns.
func (o Outlet) Run(ctx context.Context, read func(line func(Line)) error, send func(Batch) error) error {
	done := make(chan struct{})
	var err error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer close(done)
		err = read(o.o.line)
	}()
	if problem := o.o.run(ctx, done, send); problem != nil {
		return problem // read ends with its source, which the caller closes
	}
	return err
}

// Notice adds a notice to what Run sends.
func (o Outlet) Notice(code, text string) { o.o.notice(code, text) }

// outlet holds what waits to be sent. Its writer is one goroutine.
type outlet struct {
	mu    sync.Mutex
	held  Batch
	bytes int
	wake  chan struct{}
	full  chan struct{}
}

func newOutlet() *outlet {
	return &outlet{wake: make(chan struct{}, 1), full: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// line adds a line, or counts it if too much waits.
func (o *outlet) line(l Line) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.held.Lines) >= waitLines || o.bytes >= waitBytes {
		o.held.Dropped++
		return
	}
	o.held.Lines = append(o.held.Lines, l)
	o.bytes += l.size()
	signal(o.wake)
	if len(o.held.Lines) >= waitLines/2 || o.bytes >= waitBytes/2 {
		signal(o.full)
	}
}

// notice adds a notice; of equal ones that wait one is left.
func (o *outlet) notice(code, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := (Notice{code, text}); !slices.Contains(o.held.Notices, n) && len(o.held.Notices) < 100 {
		o.held.Notices = append(o.held.Notices, n)
	}
	signal(o.wake)
}

func (o *outlet) sources(all []Source) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held.Sources = all
	signal(o.wake)
}

func (o *outlet) take() Batch {
	o.mu.Lock()
	defer o.mu.Unlock()
	b := o.held
	o.held, o.bytes = Batch{}, 0
	return b
}

// flush sends what waits, in order.
func (o *outlet) flush(send func(Batch) error) error {
	b := o.take()
	slices.SortStableFunc(b.Lines, func(a, c Line) int { return a.Time.Compare(c.Time) })
	for {
		part := b
		n, bytes := 0, 0
		for n < len(b.Lines) && n < batchLines && bytes < batchBytes {
			bytes += b.Lines[n].size()
			n++
		}
		part.Lines, b = b.Lines[:n], Batch{Lines: b.Lines[n:]}
		if err := send(part); err != nil || len(b.Lines) == 0 {
			return err
		}
	}
}

// run sends what comes until done is closed and nothing waits.
func (o *outlet) run(ctx context.Context, done <-chan struct{}, send func(Batch) error) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-done:
			return o.flush(send)
		case <-o.wake:
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-done:
			case <-o.full:
			case <-time.After(gather):
			}
		case <-time.After(beat):
		}
		if err := o.flush(send); err != nil {
			return err
		}
	}
}
