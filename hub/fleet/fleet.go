package fleet

import (
	"errors"
	"log/slog"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/clock"
)

// Config holds a Fleet's dependencies. All but PollInterval, Clock and Log are
// required.
type Config struct {
	Store   Store
	Moves   MoveStore
	Writer  Writer
	Sources Sources
	Sealer  Sealer
	// Configuration stores the values of services.
	Configuration Configuration
	// Dependencies knows the services of other clusters.
	Dependencies Dependencies
	// Objects unpacks the objects of a service as its agent reported them.
	Objects func(components []byte) ([]Object, error)
	// DigestKey is the hub's key for spec digests, at least 32 bytes, equal on
	// every replica.
	DigestKey []byte
	// PollInterval is assumed for an agent until it reports its own; zero is 2
	// min.
	PollInterval time.Duration
	Clock        clock.Clock
	Log          *slog.Logger
}

// Fleet manages projects, clusters and services. Its own methods change services; those
// of each other subject are in a type of their own, which knows the subjects before it
// in this list.
type Fleet struct {
	times
	*Memory
	*projects
	*valueReader
	*revisions
	*clusters
	*serviceViews
	*reports
	*builtins
	*circles

	store         Store
	writer        Writer
	sources       Sources
	configuration Configuration
}

// New returns a Fleet whose freshness starts Unknown.
func New(c Config) (*Fleet, error) {
	if c.Store == (Store{}) || c.Moves == nil || c.Writer == nil || c.Sources == nil || c.Sealer == nil || c.Configuration == nil || c.Dependencies == nil || c.Objects == nil || len(c.DigestKey) < 32 {
		return nil, errors.New("fleet: a store, a writer, sources, a sealer, a configuration, dependencies, objects and a digest key of 32 bytes are needed")
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
	t, s := times{c.Clock}, c.Store
	f := &Fleet{times: t, store: s, writer: c.Writer, sources: c.Sources, configuration: c.Configuration}
	f.Memory = newMemory(s, c.Clock, c.PollInterval)
	f.projects = &projects{t, s, c.Writer}
	f.valueReader = &valueReader{c.Sealer, c.Configuration, c.DigestKey, c.Log}
	f.revisions = &revisions{t, s, c.Moves, c.Writer, f.valueReader, c.Dependencies}
	f.clusters = &clusters{t, s, c.Writer, f.Memory, f.projects, f.revisions}
	f.serviceViews = &serviceViews{t, s, c.Sources, f.Memory, c.Dependencies}
	f.reports = &reports{t, s, c.Writer, f.Memory, c.Dependencies}
	f.builtins = &builtins{t, s, c.Writer, f.Memory, f.revisions}
	f.circles = &circles{s, c.Objects}
	return f, nil
}

var (
	_ event.Subscriber  = (*Fleet)(nil)
	_ agentkey.Clusters = (*Fleet)(nil)
)

// times is the clock of this package: microseconds since 1970 UTC.
type times struct{ clock clock.Clock }

func (t times) now() int64 { return clock.Micros(t.clock.Now()) }
