package gitagent

import (
	"context"
	"io"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/hub/gitcache/repoagent"
	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
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
	// Agent is what agents of all kinds need.
	Agent repoagent.Config
	Git   *git.Git
	// Mirrors opens mirrors; its agents share the limit of processes.
	Mirrors *mirror.Pool
	Sink    Sink
	Dir     string // of the mirror
	// Parts returns content of other upstreams; without it, sources that need
	// such content are refused.
	Parts  Parts
	Limits tarball.Limits
	Level  tarball.Level
	// MaxPackBytes limits the bytes of one fetch; default 5 GiB.
	MaxPackBytes int64
	// Budget limits the disk space of mirrors; nil means no limit.
	Budget *Budget
	// Seed creates a missing mirror in Dir from another replica's copy and
	// reports whether one had it; nil never can.
	Seed func(ctx context.Context) bool
}

// The durations of polling.
const (
	// fullEvery is how often all refs are listed and fetched, not only those in use.
	fullEvery = 24 * time.Hour
	// repackEvery is how often a mirror is repacked completely.
	repackEvery = 7 * 24 * time.Hour
	// retryIDs is when a commit that upstream did not have is requested again.
	retryIDs = 10 * time.Minute
)

func (c *Config) defaults() {
	if c.MaxPackBytes <= 0 {
		c.MaxPackBytes = 5 << 30
	}
	if c.Seed == nil {
		c.Seed = func(context.Context) bool { return false }
	}
}
