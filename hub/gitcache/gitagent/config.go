package gitagent

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/pace"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/tarball"
)

// Sink keeps the tarballs that an agent builds.
type Sink interface {
	// Put stores what build writes and returns its digest and stored size.
	// errcode.Exhausted when there is no room.
	Put(ctx context.Context, build func(ctx context.Context, w io.Writer) (digest.Digest, error)) (digest.Digest, int64, error)
	// Has reports whether a tarball is stored.
	Has(d digest.Digest) bool
}

// Config of an Agent. All fields but those with a default are needed.
type Config struct {
	RepositoryID string
	Epoch        int64 // of the lease under which the agent lives
	Store        record.Store
	Git          *upstream.Git
	Sink         Sink
	Dir          string // of the mirror
	// Parts gives content of other upstreams; without it sources that need
	// such are refused.
	Parts Parts

	// PollInterval is the base time between polls; default 2 min.
	PollInterval time.Duration
	// Gap is the least time between two starts; default FetchGap.
	Gap    time.Duration
	Clock  clock.Clock
	Log    *slog.Logger
	Limits tarball.Limits
	Level  tarball.Level
	// MaxPackBytes bounds what one fetch may bring; default 5 GiB.
	MaxPackBytes int64
	// Budget bounds the disk of mirrors; nil is no bound.
	Budget *Budget
	// Gates are what all agents of this replica pass to ask a host; nil lets
	// everybody through.
	Gates *pace.Gates
	// Seed makes the mirror in Dir, where none lies, from another replica's
	// copy, if one has it; nil never can.
	Seed func(ctx context.Context) bool
	// Opened, if any, is called when Run has found what an earlier life left.
	Opened func()
	// OnPass, if any, hears of each pass that ended, for metrics.
	OnPass func(fetched bool, err error, took time.Duration)
}

// The numbers of polling.
const (
	// DefaultPollInterval is what upstreams and their owners find polite.
	DefaultPollInterval = 2 * time.Minute
	// fullEvery is when all refs are listed and fetched, not only those in use.
	fullEvery = 24 * time.Hour
	// repackEvery is when a mirror is packed whole.
	repackEvery = 7 * 24 * time.Hour
	// retryIDs is when a commit that upstream did not have is asked for again.
	retryIDs = 10 * time.Minute
	// headBatch is how many heads are written at once, and headWait how long
	// finished ones wait for others.
	headBatch = 200
	headWait  = time.Second
)

func (c *Config) defaults() {
	if c.PollInterval <= 0 {
		c.PollInterval = DefaultPollInterval
	}
	if c.Gap <= 0 {
		c.Gap = record.FetchGap
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.MaxPackBytes <= 0 {
		c.MaxPackBytes = 5 << 30
	}
	if c.Seed == nil {
		c.Seed = func(context.Context) bool { return false }
	}
	if c.Opened == nil {
		c.Opened = func() {}
	}
	if c.OnPass == nil {
		c.OnPass = func(bool, error, time.Duration) {}
	}
}
