package artifactagent

import (
	"context"
	"io"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/repoagent"
	"github.com/axle-cd/axle/hub/gitcache/upstream/cloudauth"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
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
	// Agent is what agents of all kinds need. Chart repositories wait two and a
	// half times its Poll: indexes are large and change seldom.
	Agent repoagent.Config
	Kind  record.Kind
	Sink  Sink
	Dir   string // for what the agent keeps; its own

	Dialer    wire.Dialer
	AllowHTTP bool
	// Env is the environment with the hub's own role in a cloud; the zero value
	// is the process's environment.
	Env cloudauth.Environment

	Limits tarball.Limits
	Level  tarball.Level
	// MaxDownload limits one file of upstream; default 256 MiB.
	MaxDownload int64
	// MaxKept limits the files kept of one repository; default 10 GiB.
	MaxKept int64
}

// The durations and sizes of following a repository.
const (
	// passTimeout limits one pass with all its downloads.
	passTimeout = 30 * time.Minute
	// sweepEvery is how often kept files are checked for removal, and
	// keepAtLeast how long a new one is kept whatever the pins say.
	sweepEvery  = time.Hour
	keepAtLeast = time.Hour
)

func (c *Config) defaults() {
	if c.MaxDownload <= 0 {
		c.MaxDownload = 256 << 20
	}
	if c.MaxKept <= 0 {
		c.MaxKept = 10 << 30
	}
	if c.Agent.Poll <= 0 {
		c.Agent.Poll = repoagent.DefaultPoll
	}
	if c.Kind == record.Helm {
		c.Agent.Poll = c.Agent.Poll * 5 / 2
		c.Agent.Spread = c.Agent.Poll / 20
	}
	c.Agent.PassLimit = passTimeout
}
