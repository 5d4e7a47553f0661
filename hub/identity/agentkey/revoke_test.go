package agentkey_test

import (
	"context"
	"errors"
	"testing"

	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity/identitytest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestAClusterGoesWithItsCredentialsOrStays(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		a, r := env.AddAgent("edge-1")
		db := &identitytest.Flaky{Store: env.Fleet.Store}
		parts := identitytest.On(env.Fleet, db.In)
		if err := parts.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		deleted := 0
		remove := func(ctx context.Context) error {
			deleted++
			return env.Fleet.DeleteCluster(ctx, "ann", "edge-1", false)
		}
		refusal := errcode.New(errcode.Conflict, "no")
		err := parts.RevokeClusterWith(t.Context(), r.ClusterID, func(context.Context) error { return refusal })
		if !errors.Is(err, refusal) {
			t.Errorf("err = %v", err)
		}
		// The connection is lost after the cluster's row is deleted, before its
		// key is.
		db.Away.Store(true)
		if err := parts.RevokeClusterWith(t.Context(), r.ClusterID, remove); !errors.Is(err, identitytest.ErrAway) || deleted == 0 {
			t.Errorf("err = %v after %d deletions", err, deleted)
		}
		db.Away.Store(false)
		if _, err := env.Fleet.Cluster(t.Context(), "edge-1"); err != nil {
			t.Errorf("the cluster went although its key stayed: %v", err)
		}
		if _, err := parts.Authenticate(t.Context(), r.DeployToken); err != nil {
			t.Errorf("the token of a cluster that stayed: %v", err)
		}
		if err := parts.RevokeClusterWith(t.Context(), r.ClusterID, remove); err != nil {
			t.Fatal(err)
		}
		_, err = env.Fleet.Cluster(t.Context(), "edge-1")
		fleettest.WantCode(t, err, errcode.NotFound)
		_, err = env.Fleet.Store.AgentKeyByPublicKey(t.Context(), a.Registration("").PublicKey)
		fleettest.WantCode(t, err, errcode.NotFound)
		_, err = parts.Authenticate(t.Context(), r.DeployToken)
		fleettest.WantCode(t, err, errcode.Unauthorized)
	})
}
