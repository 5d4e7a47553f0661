package artifactagent

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/pace"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream/cloudauth"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/tarball"
)

// Sink stores the tarballs that an agent builds.
type Sink interface {
	// Put stores what build writes and returns its digest and stored size.
	// errcode.Exhausted when there is no room.
	Put(ctx context.Context, build func(ctx context.Context, w io.Writer) (digest.Digest, error)) (digest.Digest, int64, error)
}

// Config configures an Agent. All fields without a default are required.
type Config struct {
	RepositoryID string
	Kind         record.Kind
	Epoch        int64 // of the lease under which the agent lives
	Store        record.Store
	Sink         Sink
	Dir          string // for the files that the agent keeps; not shared

	Dialer    wire.Dialer
	AllowHTTP bool
	// Env is the environment with the hub's own role in a cloud; the zero value
	// is the process's environment.
	Env cloudauth.Environment

	// PollInterval is the base time between polls of a registry or bucket;
	// charts wait two and a half times as long. Default 2 min.
	PollInterval time.Duration
	// Gap is the minimum time between two starts; default FetchGap.
	Gap    time.Duration
	Clock  clock.Clock
	Log    *slog.Logger
	Limits tarball.Limits
	Level  tarball.Level
	// MaxDownload limits one file of upstream; default 256 MiB.
	MaxDownload int64
	// MaxKept limits the files kept of one repository; default 10 GiB.
	MaxKept int64
	// Gates limit the requests of all agents of this replica to a host; nil
	// limits nothing.
	Gates *pace.Gates
	// Opened, if set, is called when Run has loaded what an earlier run left.
	Opened func()
	// OnPass, if set, is called after each pass, for metrics.
	OnPass func(fetched bool, err error, took time.Duration)
}

// The durations and sizes of following a repository.
const (
	defaultPoll = 2 * time.Minute
	// passTimeout limits one pass with all its downloads.
	passTimeout = 30 * time.Minute
	// headBatch is how many heads are written at once.
	headBatch = 200
	// sweepEvery is how often kept files are checked for removal, and
	// keepAtLeast how long a new one is kept whatever the pins say.
	sweepEvery  = time.Hour
	keepAtLeast = time.Hour
)

func (c *Config) defaults() {
	if c.PollInterval <= 0 {
		c.PollInterval = defaultPoll
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
	if c.MaxDownload <= 0 {
		c.MaxDownload = 256 << 20
	}
	if c.MaxKept <= 0 {
		c.MaxKept = 10 << 30
	}
	if c.Opened == nil {
		c.Opened = func() {}
	}
	if c.OnPass == nil {
		c.OnPass = func(bool, error, time.Duration) {}
	}
}

// poll returns the base and the spread of the time between polls. Indexes are
// polled less often because they are large and change seldom.
func (c *Config) poll() (base, spread time.Duration) {
	if c.Kind == record.Helm {
		base = c.PollInterval * 5 / 2
		return base, base / 20
	}
	return c.PollInterval, c.PollInterval / 2
}
