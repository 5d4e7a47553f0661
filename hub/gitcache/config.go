package gitcache

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/tarball"
)

// Config configures a Cache. Store, Dir and Replica are required; the zero
// value of any other field is its default.
type Config struct {
	Store Store
	// Dir is this replica's folder for mirrors and tarballs. The caller ensures
	// that no other process uses it.
	Dir string
	// Replica is the stable name of this replica.
	Replica string

	// Replicas gives access to the other replicas; nil is a hub with one
	// replica, which owns everything.
	Replicas *Replicas

	// PollInterval is the base time between polls of an upstream; up to half of
	// it is added at random. Default 2 min.
	PollInterval time.Duration
	// AllowUpstreamCIDRs are the only loopback, private and link-local
	// addresses that an upstream may have.
	AllowUpstreamCIDRs []netip.Prefix
	// AllowUpstreamHosts are Git servers, as HOST:PORT, that may have such an address.
	AllowUpstreamHosts []string
	// AllowHTTP permits http:// upstreams.
	AllowHTTP bool
	// Guard is the command that runs a git fetch under guard: it is called with
	// further arguments and must pass them to gitagent.GuardMain. Default: this
	// executable with the argument git-guard.
	Guard []string

	// CacheBytes limits the unpinned tarballs on disk. Default 10 GiB.
	CacheBytes int64
	// MirrorBytes limits the mirror of one Git repository on disk, and
	// MirrorsBytes all of them together; a repository's own MaxBytes overrides
	// the first. Zero means no limit.
	MirrorBytes, MirrorsBytes int64
	// Limits apply to each tarball.
	Limits tarball.Limits
	// Level is the compression level.
	Level tarball.Level

	Log *slog.Logger
	// Clock times polls; leases use the database's and the machine's clocks.
	Clock clock.Clock
	// Registerer registers the metrics; nil registers none.
	Registerer prometheus.Registerer
	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set

	gap     time.Duration // between starts; unrelated tests shorten it
	maxPack int64         // bytes of one fetch; zero is the agent's default
}

func (c *Config) check() error {
	if c.Store == nil || c.Dir == "" || c.Replica == "" {
		return errcode.New(errcode.Invalid, "git cache needs a store, a folder and a replica name")
	}
	if err := c.Replicas.check(); err != nil {
		return err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if len(c.Guard) == 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		c.Guard = []string{self, "git-guard"}
	}
	dir, err := filepath.Abs(c.Dir)
	c.Dir = dir
	return err
}
