package fleet

import (
	"errors"
	"log/slog"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
)

// Config is what a Fleet needs. All but PollInterval, Clock and Log are
// required.
type Config struct {
	Store   Store
	Writer  Writer
	Sources Sources
	Sealer  Sealer
	// Configuration keeps values of services.
	Configuration Configuration
	// DigestKey is the hub's key for spec digests, at least 32 bytes, equal on
	// every replica.
	DigestKey []byte
	// PollInterval is what an agent is taken to use until it says otherwise;
	// zero is 2 min.
	PollInterval time.Duration
	Clock        clock.Clock
	Log          *slog.Logger
}

// Fleet is what runs where.
type Fleet struct {
	store   Store
	writer  Writer
	sources Sources
	sealer  Sealer

	configuration Configuration

	key      []byte
	interval time.Duration
	clock    clock.Clock
	log      *slog.Logger

	liveness liveness
	hashes   statusHashes
}

// New returns a Fleet whose freshness starts Unknown.
func New(c Config) (*Fleet, error) {
	if c.Store == nil || c.Writer == nil || c.Sources == nil || c.Sealer == nil || c.Configuration == nil || len(c.DigestKey) < 32 {
		return nil, errors.New("fleet: a store, a writer, sources, a sealer, a configuration and a digest key of 32 bytes are needed")
	}
	if c.PollInterval == 0 {
		c.PollInterval = 2 * time.Minute
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	f := &Fleet{
		store: c.Store, writer: c.Writer, sources: c.Sources, sealer: c.Sealer, configuration: c.Configuration,
		key: c.DigestKey, interval: c.PollInterval, clock: c.Clock, log: c.Log,
	}
	f.liveness.start(f.now(), f.interval)
	return f, nil
}

var (
	_ event.Subscriber  = (*Fleet)(nil)
	_ identity.Clusters = (*Fleet)(nil)
)

func (f *Fleet) now() int64 { return clock.Micros(f.clock.Now()) }
