package account

import (
	"errors"
	"log/slog"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/passhash"
	"github.com/axle-cd/axle/internal/pool"
)

// Config holds the dependencies of Accounts, all but the last required.
type Config struct {
	Stores      Stores
	Writer      identity.Writer
	Directory   *identity.Directory
	Credentials *identity.Credentials
	Sealer      identity.Sealer
	Clock       clock.Clock
	Log         *slog.Logger
	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set
}

// Accounts are how people log in.
type Accounts struct {
	*passwords
	*providers
	*sessions
	*setup
	*trials
}

// common is what all of them need.
type common struct {
	stores      Stores
	writer      identity.Writer
	directory   *identity.Directory
	credentials *identity.Credentials
	sealer      identity.Sealer
	clock       clock.Clock
	log         *slog.Logger
	hasher      *passhash.Hasher
}

// New returns an error when a required part is missing.
func New(c Config) (*Accounts, error) {
	if c.Stores.Passwords == nil || c.Writer == nil || c.Directory == nil || c.Credentials == nil || c.Sealer == nil {
		return nil, errors.New("account: a part is missing")
	}
	all := &common{
		stores: c.Stores, writer: c.Writer, directory: c.Directory, credentials: c.Credentials, sealer: c.Sealer,
		clock: c.Clock, log: c.Log, hasher: passhash.New(c.Pools),
	}
	p := &passwords{all}
	ps := &providers{common: all, passwords: p}
	return &Accounts{passwords: p, providers: ps, sessions: &sessions{all}, setup: &setup{all}, trials: &trials{all, ps}}, nil
}

func (c *common) now() int64 { return clock.Micros(c.clock.Now()) }
