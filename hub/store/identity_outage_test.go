package store_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/wiring"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/errcode"
)

// flaky is a database that can be made unavailable, and that counts reads of
// single tokens.
type flaky struct {
	*store.Store
	away    atomic.Bool
	lookUps atomic.Int64
}

// in puts it in place of the stores that read tokens and delete agent keys.
func (f *flaky) in(s *wiring.Stores) { s.Identity.Index, s.AgentKey.Keys = f, f }

var errAway = errors.New("connection refused")

func (f *flaky) TokenByHash(ctx context.Context, hash []byte) (identity.Token, error) {
	f.lookUps.Add(1)
	if f.away.Load() {
		return identity.Token{}, errAway
	}
	return f.Store.TokenByHash(ctx, hash)
}

func (f *flaky) Token(ctx context.Context, id string) (identity.Token, error) {
	if f.away.Load() {
		return identity.Token{}, errAway
	}
	return f.Store.Token(ctx, id)
}

func (f *flaky) DeleteAgentKey(ctx context.Context, clusterID string) error {
	if f.away.Load() {
		return errAway
	}
	return f.Store.DeleteAgentKey(ctx, clusterID)
}

func TestAClusterGoesWithItsCredentialsOrStays(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		a, r := g.registered("edge-1")
		db := &flaky{Store: g.yard.store}
		d := g.yard.identities(t, db.in)
		if err := d.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		deleted := 0
		remove := func(ctx context.Context) error {
			deleted++
			return g.yard.DeleteCluster(ctx, "ann", "edge-1", false)
		}
		refusal := errcode.New(errcode.Conflict, "no")
		err := d.RevokeClusterWith(t.Context(), r.ClusterID, func(context.Context) error { return refusal })
		if !errors.Is(err, refusal) {
			t.Errorf("err = %v", err)
		}
		// The connection is lost after the cluster's row is deleted, before its
		// key is.
		db.away.Store(true)
		if err := d.RevokeClusterWith(t.Context(), r.ClusterID, remove); !errors.Is(err, errAway) || deleted == 0 {
			t.Errorf("err = %v after %d deletions", err, deleted)
		}
		db.away.Store(false)
		if _, err := g.yard.Cluster(t.Context(), "edge-1"); err != nil {
			t.Errorf("the cluster went although its key stayed: %v", err)
		}
		if _, err := d.Authenticate(t.Context(), r.DeployToken); err != nil {
			t.Errorf("the token of a cluster that stayed: %v", err)
		}
		if err := d.RevokeClusterWith(t.Context(), r.ClusterID, remove); err != nil {
			t.Fatal(err)
		}
		_, err = g.yard.Cluster(t.Context(), "edge-1")
		wantCode(t, err, errcode.NotFound)
		_, err = g.yard.store.AgentKeyByPublicKey(t.Context(), a.registration("").PublicKey)
		wantCode(t, err, errcode.NotFound)
		_, err = d.Authenticate(t.Context(), r.DeployToken)
		wantCode(t, err, errcode.Unauthorized)
	})
}

func TestKnownTokensWorkAnHourWithoutDatabase(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		made := g.token(identity.TokenRequest{Name: "ci"})
		db := &flaky{Store: g.yard.store}
		d := g.yard.identities(t, db.in)
		_, err := d.Authenticate(t.Context(), made.Secret)
		wantCode(t, err, errcode.Unavailable)
		if err := d.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if _, err := d.Authenticate(t.Context(), made.Secret); err != nil {
				t.Fatal(err)
			}
		}
		if n := db.lookUps.Load(); n != 0 {
			t.Errorf("100 requests with a known token cost %d queries", n)
		}
		for range 100 {
			_, err := d.Authenticate(t.Context(), made.Secret+"x")
			wantCode(t, err, errcode.Unauthorized)
		}
		if n := db.lookUps.Load(); n > 20 {
			t.Errorf("100 requests with an unknown token within a second cost %d queries, want at most 20", n)
		}
		db.away.Store(true)
		g.yard.clock.Advance(time.Hour)
		if _, err := d.Authenticate(t.Context(), made.Secret); err != nil {
			t.Errorf("after an hour: %v", err)
		}
		g.yard.clock.Advance(time.Second)
		_, err = d.Authenticate(t.Context(), made.Secret)
		wantCode(t, err, errcode.Unavailable)
	})
}

// While the database does not answer, a token that another replica created a
// moment ago is not refused as unknown: its agent would treat it as revoked.
func TestTokenThatCannotBeLookedUpIsNotRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		db := &flaky{Store: g.yard.store}
		d := g.yard.identities(t, db.in)
		if err := d.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		made := g.token(identity.TokenRequest{Name: "ci"})
		db.away.Store(true)
		_, err := d.Authenticate(t.Context(), made.Secret)
		wantCode(t, err, errcode.Unavailable)
		if errcode.RetryAfter(err) == 0 {
			t.Error("nobody is told when to come back")
		}
		_, err = d.Caller(t.Context(), made.ID)
		wantCode(t, err, errcode.Unavailable)
		db.away.Store(false)
		if _, err := d.Authenticate(t.Context(), made.Secret); err != nil {
			t.Errorf("once the database answers: %v", err)
		}
	})
}
