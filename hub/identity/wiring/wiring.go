// Package wiring makes identity and the packages below it on one database, and
// gives the credentials to those that issue tokens. hub calls it, and tests that
// need the parts without a hub. It decides nothing and holds no state.
//
// Invariant: the credentials leave this package only inside the parts.
package wiring

import (
	"log/slog"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/identity/federation"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/pool"
)

// Config holds what the parts need. Stores, Writer and Sealer are required.
type Config struct {
	Stores Stores
	Writer identity.Writer
	Sealer identity.Sealer
	// Clusters is nil for a command that registers no agents; then there are no
	// AgentKeys.
	Clusters agentkey.Clusters
	// Issuers is nil when no tokens of other issuers are accepted; then there are
	// no Trusts.
	Issuers *federation.Issuers
	// Operator is nil if no ServiceAccount of the hub's own cluster may log in.
	Operator *federation.Operator
	// Pools has the pools; nil has them without metrics.
	Pools *pool.Set
	// Clock is the real one when nil; a nil Log discards.
	Clock clock.Clock
	Log   *slog.Logger
}

// Stores are the tables of all parts; hub/store/accounts fills them.
type Stores struct {
	Identity    identity.Stores
	Account     account.Stores
	AgentKey    agentkey.Stores
	SigningKeys agentkey.SigningKeyStore
	Trusts      federation.TrustStore
	Marks       federation.MarkStore
}

// Parts know who calls.
type Parts struct {
	Identity  *identity.Directory
	Accounts  *account.Accounts
	Signer    *agentkey.Signer
	AgentKeys *agentkey.Keys
	Trusts    *federation.Trusts
}

// New returns an error when a required part is missing.
func New(c Config) (p Parts, err error) {
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	var credentials *identity.Credentials
	p.Identity, credentials, err = identity.New(identity.Config{Stores: c.Stores.Identity, Writer: c.Writer, Pools: c.Pools, Clock: c.Clock, Log: c.Log})
	if err != nil {
		return p, err
	}
	p.Accounts, err = account.New(account.Config{
		Stores: c.Stores.Account, Writer: c.Writer, Directory: p.Identity, Credentials: credentials, Sealer: c.Sealer, Clock: c.Clock, Log: c.Log, Pools: c.Pools,
	})
	if err != nil {
		return p, err
	}
	p.Signer, err = agentkey.NewSigner(agentkey.SignerConfig{Store: c.Stores.SigningKeys, Writer: c.Writer, Sealer: c.Sealer, Clock: c.Clock, Log: c.Log})
	if err == nil && c.Clusters != nil {
		p.AgentKeys, err = agentkey.New(agentkey.Config{
			Stores: c.Stores.AgentKey, Writer: c.Writer, Credentials: credentials, Signer: p.Signer, Clusters: c.Clusters, Clock: c.Clock, Log: c.Log,
		})
	}
	if err == nil && c.Issuers != nil {
		p.Trusts, err = federation.NewTrusts(federation.TrustsConfig{
			Store: c.Stores.Trusts, Marks: c.Stores.Marks, Writer: c.Writer, Directory: p.Identity, Credentials: credentials, Issuers: c.Issuers, Operator: c.Operator,
			Clock: c.Clock, Log: c.Log,
		})
	}
	return p, err
}
