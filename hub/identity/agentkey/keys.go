package agentkey

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/clock"
)

// Config holds the dependencies of Keys, all required.
type Config struct {
	Stores      Stores
	Writer      identity.Writer
	Credentials *identity.Credentials
	Signer      *Signer
	Clusters    Clusters
	Clock       clock.Clock
	Log         *slog.Logger
}

// Keys are the identities of agents. It signs with the Signer's keys.
type Keys struct {
	*Signer

	stores      Stores
	writer      identity.Writer
	credentials *identity.Credentials
	clusters    Clusters
	clock       clock.Clock
	log         *slog.Logger

	// boots maps cluster ids to knownBoot.
	boots sync.Map
	// turn admits one registration at a time. Many agents come with one
	// bootstrap token, whose row counts its uses: on Postgres, concurrent
	// transactions on that row would retry until they give up.
	turn chan struct{}
	// contacts are the last registrations.
	contacts contacts
}

// New returns an error when a required part is missing.
func New(c Config) (*Keys, error) {
	if c.Stores.Keys == nil || c.Writer == nil || c.Credentials == nil || c.Signer == nil || c.Clusters == nil {
		return nil, errors.New("agentkey: a part is missing")
	}
	return &Keys{
		Signer: c.Signer, stores: c.Stores, writer: c.Writer, credentials: c.Credentials, clusters: c.Clusters,
		clock: c.Clock, log: c.Log, turn: make(chan struct{}, 1),
	}, nil
}

func (ks *Keys) now() int64 { return clock.Micros(ks.clock.Now()) }

// Clusters creates clusters for registrations. Calls run in the transaction of
// the context.
type Clusters interface {
	// Enroll marks the named cluster as registered, and creates it when it does
	// not exist. Conflict when the name belongs to a registered cluster.
	Enroll(ctx context.Context, e Enrollment) (Enrolled, error)
	// Found returns the cluster that a management cluster found, and whether it is new.
	// Conflict when the name belongs to another cluster, or when it is connected.
	Found(ctx context.Context, f Finding) (c Enrolled, fresh bool, err error)
	// SetIdentityProblem records a problem with a cluster's identity; empty
	// text clears it.
	SetIdentityProblem(ctx context.Context, clusterID, problem string) error
}
