package upgrade

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/logkey"
)

// Defaults for fields of Config.
const (
	// DefaultWithin is how long a candidate has to render everything, and then to
	// become healthy.
	DefaultWithin = 15 * time.Minute
	// DefaultTick is how often each side checks the other during an upgrade.
	DefaultTick = 5 * time.Second
	// goneWithin is how long to wait for the end of the candidate's pods.
	goneWithin = time.Minute
	// differentPercent of the services may render differently.
	differentPercent = 1
)

// Config is what a Keeper needs. Client, Namespace and Version are required.
type Config struct {
	Client kubernetes.Interface
	// Namespace of the installation.
	Namespace string
	// Version of this program.
	Version string
	// Pod is the name of this process's pod, empty if it has none.
	Pod string
	// Candidate is the key of the upgrade that this process is a candidate of, empty
	// for the installed agent.
	Candidate string
	// Within and Tick are the defaults above when zero.
	Within time.Duration
	Tick   time.Duration
	Clock  clock.Clock
	Log    *slog.Logger
}

// Keeper is one side of an upgrade.
type Keeper struct {
	config Config
	begun  chan struct{}
	// active: a candidate renders without applying, or was rolled back and is not removed
	// yet, so it must be checked.
	active atomic.Bool
	// together is held while the record and the candidate's Deployment are brought
	// into line: an offer and its end come from two goroutines.
	together sync.Mutex
}

// New returns a Keeper.
func New(c Config) (*Keeper, error) {
	if c.Client == nil || c.Namespace == "" || c.Version == "" {
		return nil, errors.New("upgrade: Client, Namespace and Version are required")
	}
	if c.Within == 0 {
		c.Within = DefaultWithin
	}
	if c.Tick == 0 {
		c.Tick = DefaultTick
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Keeper{config: c, begun: make(chan struct{}, 1)}, nil
}

// Run runs the installed agent: it works, watches a candidate, or takes over from
// one, until the context ends. work runs until its context ends, and again after a
// failed upgrade.
func (k *Keeper) Run(ctx context.Context, work func(ctx context.Context) error) error {
	backoff := jitter.Backoff{Min: time.Second, Max: time.Minute}
	for ctx.Err() == nil {
		err := k.turn(ctx, work)
		if err == nil {
			backoff.Reset()
			continue
		}
		var stop *workError
		if errors.As(err, &stop) {
			return stop.error
		}
		k.config.Log.Warn("the agent's own upgrade cannot continue", logkey.Error, err)
		k.wait(ctx, max(time.Second, backoff.Next()))
	}
	return nil
}

// workError is an error of the work itself.
type workError struct{ error }

// turn does what the record says, until the record changes.
func (k *Keeper) turn(ctx context.Context, work func(ctx context.Context) error) error {
	r, _, err := k.read(ctx)
	if err != nil {
		return err
	}
	k.active.Store(r.Phase == candidateRenders)
	if r.Phase == none || r.Phase == candidateRenders {
		if r.Phase == none && r.Key != "" {
			if err := k.removeCandidate(ctx); err != nil {
				return err
			}
		}
		return k.work(ctx, work)
	}
	mine, err := k.isWanted(ctx, r)
	if err != nil {
		return err
	}
	if mine && r.Phase != reverting || !mine && r.Phase == reverting || r.Phase == returning {
		return k.takeBack(ctx)
	}
	return k.standBy(ctx)
}

// work works until the candidate is ready and gets the work.
func (k *Keeper) work(ctx context.Context, work func(ctx context.Context) error) error {
	inner, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- work(inner) }()
	for {
		var tick <-chan time.Time
		if k.active.Load() {
			tick = k.config.Clock.After(k.config.Tick)
		}
		select {
		case err := <-ended:
			if err == nil && ctx.Err() == nil {
				err = errors.New("the agent's work ended by itself")
			}
			return &workError{err}
		case <-k.begun:
		case <-tick:
		}
		ready, err := k.checkRender(ctx)
		if err != nil {
			k.config.Log.Warn("cannot check the new agent", logkey.Error, err)
		}
		if !ready {
			continue
		}
		stop()
		if err := <-ended; err != nil {
			return &workError{err}
		}
		return k.handOver(ctx)
	}
}

// wait returns false if the context ended first.
func (k *Keeper) wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-k.config.Clock.After(d):
		return true
	}
}
