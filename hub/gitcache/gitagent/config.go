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

// Sink stores the tarballs that an agent builds.
type Sink interface {
	// Put stores what build writes and returns its digest and stored size.
	// errcode.Exhausted when there is no room.
	Put(ctx context.Context, build func(ctx context.Context, w io.Writer) (digest.Digest, error)) (digest.Digest, int64, error)
	// Has reports whether a tarball is stored.
	Has(d digest.Digest) bool
}

// Config configures an Agent. All fields without a default are required.
type Config struct {
	RepositoryID string
	Epoch        int64 // of the lease under which the agent lives
	Store        record.Store
	Git          *upstream.Git
	Sink         Sink
	Dir          string // of the mirror
	// Parts returns content of other upstreams; without it, sources that need
	// such content are refused.
	Parts Parts

	// PollInterval is the base time between polls; default 2 min.
	PollInterval time.Duration
	// Gap is the minimum time between two starts; default FetchGap.
	Gap    time.Duration
	Clock  clock.Clock
	Log    *slog.Logger
	Limits tarball.Limits
	Level  tarball.Level
	// MaxPackBytes limits the bytes of one fetch; default 5 GiB.
	MaxPackBytes int64
	// Budget limits the disk space of mirrors; nil means no limit.
	Budget *Budget
	// Gates limit the requests of all agents of this replica to a host; nil
	// limits nothing.
	Gates *pace.Gates
	// Seed creates a missing mirror in Dir from another replica's copy and
	// reports whether one had it; nil never can.
	Seed func(ctx context.Context) bool
	// Opened, if set, is called when Run has loaded what an earlier run left.
	Opened func()
	// OnPass, if set, is called after each pass, for metrics.
	OnPass func(fetched bool, err error, took time.Duration)
}

// The durations of polling.
const (
	// DefaultPollInterval is a rate that operators of upstreams accept.
	DefaultPollInterval = 2 * time.Minute
	// fullEvery is how often all refs are listed and fetched, not only those in use.
	fullEvery = 24 * time.Hour
	// repackEvery is how often a mirror is repacked completely.
	repackEvery = 7 * 24 * time.Hour
	// retryIDs is when a commit that upstream did not have is requested again.
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
