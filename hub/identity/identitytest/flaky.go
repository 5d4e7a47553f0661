package identitytest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// ErrAway is what a Flaky store returns while it is away.
var ErrAway = errors.New("connection refused")

// Flaky is a store that can be made unavailable, and that counts reads of single
// tokens. On puts it into new parts with In.
type Flaky struct {
	*storetest.Store
	Away    atomic.Bool
	LookUps atomic.Int64
}

// In puts it in place of the stores that read tokens and delete agent keys.
func (f *Flaky) In(s *Stores) { s.Identity.Index, s.AgentKey.Keys = f, f }

// TokenByHash implements identity.TokenReader.
func (f *Flaky) TokenByHash(ctx context.Context, hash []byte) (identity.Token, error) {
	f.LookUps.Add(1)
	if f.Away.Load() {
		return identity.Token{}, ErrAway
	}
	return f.Store.TokenByHash(ctx, hash)
}

// Token implements identity.TokenReader.
func (f *Flaky) Token(ctx context.Context, id string) (identity.Token, error) {
	if f.Away.Load() {
		return identity.Token{}, ErrAway
	}
	return f.Store.Token(ctx, id)
}

// DeleteAgentKey implements agentkey.KeyStore.
func (f *Flaky) DeleteAgentKey(ctx context.Context, clusterID string) error {
	if f.Away.Load() {
		return ErrAway
	}
	return f.Store.DeleteAgentKey(ctx, clusterID)
}
