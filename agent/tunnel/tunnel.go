package tunnel

import (
	"context"
	"sync"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

// Status is the state of the tunnel, for /healthz and metrics.
type Status struct {
	// Up: the hub can send requests now.
	Up bool
	// Since is when Up last changed.
	Since time.Time
	// Replica is the hub's replica at the other end, while Up.
	Replica string
	// Err is why the tunnel is down; nil if it is up or was not tried.
	Err error
	// Dials and Streams are counts since the start.
	Dials, Streams int64
}

// Tunnel is the agent's end.
type Tunnel struct {
	config Config

	mu     sync.Mutex
	status Status
	live   int // connections whose hello arrived
}

// New returns a Tunnel that dials when it runs.
func New(c Config) (*Tunnel, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Tunnel{config: c, status: Status{Since: c.Clock.Now()}}, nil
}

// Status returns the present state of the tunnel.
func (t *Tunnel) Status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}

// Run keeps a connection until the context ends. After failures it waits and retries.
func (t *Tunnel) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	backoff := jitter.Backoff{Min: t.config.FirstWait, Max: max(maxWait, t.config.FirstWait)}
	for ctx.Err() == nil {
		began := t.config.Clock.Now()
		l, err := t.connect(ctx, &running)
		if err == nil {
			if err = t.keep(ctx, l); err == nil {
				continue // the hub asked to dial the next one
			}
			if t.config.Clock.Now().Sub(began) >= goodAfter {
				backoff.Reset()
			}
		}
		if ctx.Err() != nil {
			break
		}
		t.failed(err)
		wait := backoff.Next()
		if after := errcode.RetryAfter(err); after > 0 {
			wait = jitter.Add(after, max(after, t.config.FirstWait))
		}
		select {
		case <-t.config.Clock.After(wait):
		case <-ctx.Done():
		}
	}
	return nil
}

// connect dials and waits for the hub's first message. The connection is served in
// the background, until it or ctx ends.
func (t *Tunnel) connect(ctx context.Context, running *sync.WaitGroup) (*link, error) {
	t.mu.Lock()
	t.status.Dials++
	t.mu.Unlock()
	conn, err := t.config.Dial(ctx)
	if err != nil {
		return nil, err
	}
	l := newLink(t, conn)
	running.Go(func() { l.serve(ctx) })
	select {
	case <-l.greeted:
		return l, nil
	case <-l.done:
		return nil, errcode.New(errcode.Unavailable, "the connection to the hub ended before its first message")
	case <-t.config.Clock.After(t.config.HelloWithin):
		l.close()
		return nil, errcode.New(errcode.Unavailable, "the hub's first message did not come within %v; a proxy on the way buffers; turn its buffering off for %s", t.config.HelloWithin, Path)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// keep returns nil when the next connection should be dialled while this one
// continues, and an error when this one ended.
func (t *Tunnel) keep(ctx context.Context, l *link) error {
	select {
	case <-l.done:
		return errcode.New(errcode.Unavailable, "the connection to the hub ended")
	case spread := <-l.leave:
		select {
		case <-t.config.Clock.After(jitter.Full(spread)):
			return nil
		case <-l.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failed records why there is no connection. A repeated failure is logged once.
func (t *Tunnel) failed(err error) {
	t.mu.Lock()
	before := t.status.Err
	t.status.Err = err
	t.mu.Unlock()
	if before == nil || before.Error() != err.Error() {
		t.config.Log.Warn("there is no tunnel to the hub; polls go on", logkey.Error, err)
	}
}

// changed records that a connection was added or removed.
func (t *Tunnel) changed(by int, replica string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live += by
	if by > 0 {
		t.status.Replica, t.status.Err = replica, nil
	}
	if up := t.live > 0; up != t.status.Up {
		t.status.Up, t.status.Since = up, t.config.Clock.Now()
		if up {
			t.config.Log.Info("the tunnel to the hub is up", logkey.Replica, replica)
		}
	}
}
