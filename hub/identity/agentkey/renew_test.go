package agentkey_test

import (
	"crypto/ed25519"
	"fmt"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/identity/identitytest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

func TestDeployTokenIsGoodUntilItsSuccessorIsUsed(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		a, r := env.AddAgent("edge-1")
		use := func(bearer string) error {
			p, err := env.Authenticate(t.Context(), bearer)
			if err == nil && (p.Kind != identity.KindCluster || p.ID != r.ClusterID || p.By() != "agent edge-1") {
				t.Errorf("principal %+v", p)
			}
			return err
		}
		env.Fleet.Clock.Advance(12 * time.Hour)
		eventually.For(t, time.Minute, "the database was reached at the new time", func() error { return use(r.DeployToken) })
		lost, err := env.Renew(t.Context(), a.Renewal(r.ClusterID, env.Fleet.Clock.Now()))
		if err != nil {
			t.Fatal(err)
		}
		env.Fleet.Clock.Advance(time.Second)
		renewed, err := env.Renew(t.Context(), a.Renewal(r.ClusterID, env.Fleet.Clock.Now()))
		if err != nil {
			t.Fatal(err)
		}
		for name, bearer := range map[string]string{"first": r.DeployToken, "lost": lost.DeployToken} {
			if err := use(bearer); err != nil {
				t.Errorf("%s: %v before the successor was used", name, err)
			}
		}
		if err := use(renewed.DeployToken); err != nil {
			t.Fatal(err)
		}
		for _, bearer := range []string{r.DeployToken, lost.DeployToken} {
			eventually.For(t, time.Minute, "an older token is refused", func() error {
				if err := use(bearer); !errcode.Is(err, errcode.Unauthorized) {
					return fmt.Errorf("err = %w", err)
				}
				return nil
			})
		}
		if err := use(renewed.DeployToken); err != nil {
			t.Errorf("the present token: %v", err)
		}
		if err := env.RevokeCluster(t.Context(), r.ClusterID); err != nil {
			t.Fatal(err)
		}
		fleettest.WantCode(t, use(renewed.DeployToken), errcode.Unauthorized)
		_, err = env.Renew(t.Context(), a.Renewal(r.ClusterID, env.Fleet.Clock.Now()))
		fleettest.WantCode(t, err, errcode.Unauthorized)
	})
}

func TestRenewalIsSignedFreshAndUsedOnce(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		a, r := env.AddAgent("edge-1")
		now := env.Fleet.Clock.Now()
		good := a.Renewal(r.ClusterID, now.Add(-9*time.Minute))
		renewed, err := env.Renew(t.Context(), good)
		if err != nil {
			t.Fatal(err)
		}
		payload := agentkey.KeysPayload(renewed.SigningKeys)
		if !ed25519.Verify(r.SigningKeys[0].PublicKey, payload, renewed.Signature.Bytes) || renewed.Signature.KeyID != r.SigningKeys[0].ID {
			t.Error("the keys are not signed by the one that the agent pinned")
		}
		tampered := a.Renewal(r.ClusterID, now)
		tampered.BootID = "boot-9"
		for name, bad := range map[string]agentkey.Renewal{
			"replay": good, "old": a.Renewal(r.ClusterID, now.Add(-11*time.Minute)), "ahead": a.Renewal(r.ClusterID, now.Add(11*time.Minute)),
			"tampered": tampered, "other key": identitytest.NewAgent(t, a.UID).Renewal(r.ClusterID, now),
		} {
			if _, err := env.Renew(t.Context(), bad); !errcode.Is(err, errcode.Unauthorized) {
				t.Errorf("%s: err = %v", name, err)
			}
		}
	})
}

func TestTwoAgentsOnOneIdentityAreShown(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		a, r := env.AddAgent("edge-1")
		check := func(boot string) error { return env.CheckBoot(t.Context(), r.ClusterID, boot) }
		message := func() string {
			t.Helper()
			view, err := env.Fleet.Cluster(t.Context(), "edge-1")
			if err != nil {
				t.Fatal(err)
			}
			return view.Message
		}
		for _, boot := range []string{"boot-1", "boot-2", "boot-2"} {
			if err := check(boot); err != nil || message() != "" {
				t.Errorf("%s: %v, %q", boot, err, message())
			}
		}
		fleettest.WantCode(t, check("boot-1"), errcode.Conflict)
		if message() == "" {
			t.Error("two boots in turns are not shown")
		}
		a.Boot = "boot-1"
		_, err := env.Renew(t.Context(), a.Renewal(r.ClusterID, env.Fleet.Clock.Now()))
		fleettest.WantCode(t, err, errcode.Conflict)
		env.Fleet.Clock.Advance(20 * time.Minute)
		if err := check("boot-2"); err != nil || message() != "" {
			t.Errorf("after the second agent stopped: %v, %q", err, message())
		}
		copied := *a
		copied.UID, copied.Boot = "uid-copy", "boot-3"
		_, err = env.Renew(t.Context(), copied.Renewal(r.ClusterID, env.Fleet.Clock.Now()))
		fleettest.WantCode(t, err, errcode.Conflict)
		if message() == "" {
			t.Error("two clusters on one key are not shown")
		}
	})
}
