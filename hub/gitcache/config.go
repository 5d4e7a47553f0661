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
	"github.com/axle-cd/axle/internal/tarball"
)

// Config of a Cache. Store, Dir and Replica are needed; the zero value of
// anything else is its default.
type Config struct {
	Store Store
	// Dir is this replica's own folder for mirrors and tarballs. The caller
	// makes sure that no other process uses it.
	Dir string
	// Replica is the stable name of this replica.
	Replica string

	// Replicas is how the others are known and asked; nil is a hub of one
	// replica, which owns everything.
	Replicas *Replicas

	// PollInterval is the base time between polls of an upstream; half of it
	// is the most that is added at random. Default 2 min.
	PollInterval time.Duration
	// AllowUpstreamCIDRs are the only loopback, private and link-local
	// addresses that an upstream may have.
	AllowUpstreamCIDRs []netip.Prefix
	// AllowHTTP permits http:// upstreams.
	AllowHTTP bool
	// Guard is the command that runs a git fetch under guard: it is given
	// further arguments and must call gitagent.GuardMain with them. Default:
	// this executable with the argument git-guard.
	Guard []string

	// CacheBytes bounds the tarballs on disk that are not pinned.
	// Default 10 GiB.
	CacheBytes int64
	// MirrorBytes bounds the mirror of one Git repository on disk, and
	// MirrorsBytes all of them; a repository's own MaxBytes goes before the
	// first. Zero is no bound.
	MirrorBytes, MirrorsBytes int64
	// Limits of one tarball.
	Limits tarball.Limits
	// Level of compression.
	Level tarball.Level

	Log *slog.Logger
	// Clock times polls; leases go by the database's and the machine's.
	Clock clock.Clock
	// Registerer takes the metrics; nil registers none.
	Registerer prometheus.Registerer

	gap     time.Duration // between starts; tests of other things shorten it
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
