package notify

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/notify/send"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/lifecycle"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/pool"
)

// Writer runs transactions.
type Writer interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
}

// Sealer seals targets.
type Sealer interface {
	Seal(plaintext []byte, purpose string) string
	Open(sealed, purpose string) ([]byte, error)
}

// Config has what a Notifier needs. Clock, Log and Registerer are optional.
type Config struct {
	Writer   Writer
	Sinks    SinkStore
	Routers  RouterStore
	Events   LogStore
	Queue    QueueStore
	Outgoing Outgoing
	Inbox    InboxStore
	Sealer   Sealer
	Sender   *send.Sender
	// Project finds the scope of a project by name. NotFound.
	Project func(ctx context.Context, name string) (identity.Scope, error)
	// AllowHTTP permits http:// URLs of other machines.
	AllowHTTP bool
	// URL is that of the hub, for links.
	URL        string
	Clock      clock.Clock
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set
}

const (
	// turn is the time between two looks at the event log and the queue; a commit
	// wakes them, at most once in pause.
	turn, pause = 5 * time.Second, time.Second
	// keep is how long messages are kept after they were made, for the console.
	keep = 30 * 24 * time.Hour
)

// objects are the sinks and routers.
type objects struct{ config Config }

// Notifier keeps sinks and routers, and sends messages. Its methods are safe for
// concurrent use.
type Notifier struct {
	*objects
	wake    chan struct{}
	metrics metrics

	places  *pool.Places
	running sync.WaitGroup

	// prunedAt belongs to begin.
	prunedAt time.Time

	mu sync.Mutex
	// resting are the sinks whose destination failed, until a time.
	resting map[string]time.Time
	// serving are the sinks that are served, or wait for a place.
	serving map[string]bool
}

// New returns an error when a required part is missing.
func New(c Config) (*Notifier, error) {
	if c.Writer == nil || c.Sinks == nil || c.Routers == nil || c.Events == nil || c.Queue == nil || c.Outgoing == nil || c.Inbox == nil || c.Sealer == nil || c.Sender == nil || c.Project == nil {
		return nil, errors.New("notify: a part is missing")
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	n := &Notifier{objects: &objects{c}, wake: make(chan struct{}, 1), places: newPlaces(c.Pools), resting: map[string]time.Time{}, serving: map[string]bool{}, metrics: newMetrics()}
	if c.Registerer != nil {
		c.Registerer.MustRegister(n.metrics.all()...)
	}
	return n, nil
}

func (n *objects) now() int64 { return clock.Micros(n.config.Clock.Now()) }

// Wake makes Run look at the event log soon. It does not block.
func (n *Notifier) Wake() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

var _ event.Subscriber = (*Notifier)(nil)

// Rebuild implements event.Subscriber.
func (n *Notifier) Rebuild(context.Context) error { n.Wake(); return nil }

// Apply implements event.Subscriber: what is committed may have made an event.
func (n *Notifier) Apply(context.Context, []event.Row) error { n.Wake(); return nil }

// Run collects events and sends messages until the context ends. One replica at a time
// runs it.
func (n *Notifier) Run(ctx context.Context) error {
	return lifecycle.Run(ctx,
		lifecycle.Part{Name: "collect", Run: func(ctx context.Context) error { return n.repeat(ctx, n.wake, n.CollectAll) }},
		lifecycle.Part{Name: "deliver", Run: func(ctx context.Context) error {
			defer n.running.Wait()
			return n.repeat(ctx, nil, n.begin)
		}},
	)
}

// repeat does work at intervals, and sooner when it is woken.
func (n *Notifier) repeat(ctx context.Context, wake <-chan struct{}, work func(context.Context) error) error {
	for {
		if err := work(ctx); err != nil && ctx.Err() == nil {
			n.config.Log.Warn("notifications wait; trying again", logkey.Error, err)
		}
		select {
		case <-n.config.Clock.After(jitter.Around(turn, turn/5)):
		case <-wake:
			select {
			case <-n.config.Clock.After(jitter.Full(pause)):
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}
