package store_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

func TestBootstrapTagsOutsideAllowListAreRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		request := agentkey.BootstrapRequest{
			NamePattern: "edge-*", AllowedTags: map[string]string{"tier": "dev", "city": "*"}, MaxUses: 10,
		}
		token := g.bootstrap(request)
		tests := map[string]struct {
			name string
			tags map[string]string
			code errcode.Code
		}{
			"other value":  {"edge-1", map[string]string{"tier": "prod"}, errcode.Forbidden},
			"other key":    {"edge-1", map[string]string{"secret": "yes"}, errcode.Forbidden},
			"other name":   {"core-1", nil, errcode.Forbidden},
			"no name":      {"", nil, errcode.Forbidden},
			"all allowed":  {"edge-1", map[string]string{"tier": "dev", "city": "Ghent"}, ""},
			"none":         {"edge-2", nil, ""},
			"name is used": {"edge-2", nil, errcode.Conflict},
		}
		for _, name := range []string{"other value", "other key", "other name", "no name", "all allowed", "none", "name is used"} {
			tc := tests[name]
			r := newAgent(t, "uid "+name).registration(tc.name)
			r.Tags = tc.tags
			got, err := g.Register(t.Context(), token.Secret, r)
			if errcode.Of(err) != tc.code {
				t.Errorf("%s: err = %v, want code %q", name, err, tc.code)
			}
			if err == nil && !got.Pending {
				t.Errorf("%s: a token with 10 uses registered a cluster that needs no approval", name)
			}
		}
	})
}

func TestRegistrationMayBeRepeated(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		token := g.bootstrap(agentkey.BootstrapRequest{})
		a := newAgent(t, "uid-1")
		first, err := g.Register(t.Context(), token.Secret, a.registration("edge-1"))
		if err != nil {
			t.Fatal(err)
		}
		a.boot = "boot-2"
		again, err := g.Register(t.Context(), token.Secret, a.registration("edge-1"))
		if err != nil || again.ClusterID != first.ClusterID || again.DeployToken == first.DeployToken || len(again.SigningKeys) != 1 {
			t.Errorf("again %+v, %v", again, err)
		}
		_, err = g.Register(t.Context(), token.Secret, newAgent(t, "uid-2").registration("edge-2"))
		wantCode(t, err, errcode.Unauthorized)
		forged := a.registration("edge-1")
		forged.Proof[0] ^= 1
		_, err = g.Register(t.Context(), token.Secret, forged)
		wantCode(t, err, errcode.Invalid)
		_, err = g.Register(t.Context(), g.token(identity.TokenRequest{Name: "ci"}).Secret, a.registration("edge-1"))
		wantCode(t, err, errcode.Unauthorized)
	})
}

func TestAFixedTokenNamesItsCluster(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		c, err := g.yard.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: "edge-1", Tags: map[string]string{"tier": "prod"}})
		if err != nil {
			t.Fatal(err)
		}
		fixed := func() identity.CreatedToken {
			return g.bootstrap(agentkey.BootstrapRequest{ClusterID: c.ID, ClusterName: c.Name})
		}
		token := fixed()
		if got := time.Duration(token.ExpiresAt-token.CreatedAt) * time.Microsecond; got != time.Hour {
			t.Errorf("lives %s, want 1h", got)
		}
		a := newAgent(t, "uid-1")
		r, err := g.Register(t.Context(), token.Secret, a.registration(""))
		if err != nil || r.ClusterID != c.ID || r.ClusterName != "edge-1" || r.Pending {
			t.Fatalf("registered %+v, %v", r, err)
		}
		_, err = g.Register(t.Context(), fixed().Secret, newAgent(t, "uid-2").registration(""))
		wantCode(t, err, errcode.Conflict)
		view, err := g.yard.Cluster(t.Context(), "edge-1")
		if err != nil || view.Message == "" || view.Tags["tier"] != "prod" {
			t.Errorf("the conflict is not shown: %+v, %v", view, err)
		}
		back := newAgent(t, "uid-1")
		if r, err := g.Register(t.Context(), fixed().Secret, back.registration("")); err != nil || r.ClusterID != c.ID {
			t.Errorf("the same cluster with a new key: %+v, %v", r, err)
		}
		eventually.For(t, time.Minute, "the old key's token is refused", func() error {
			if _, err := g.Authenticate(t.Context(), r.DeployToken); !errcode.Is(err, errcode.Unauthorized) {
				return fmt.Errorf("err = %w", err)
			}
			return nil
		})
	})
}

// A registered agent proves its identity by its key: a token of another cluster,
// or one that is used up, neither moves it nor gives it a new identity.
func TestATokenOfAnotherClusterRegistersNobodyAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		fixed := func(name string) (identity.CreatedToken, string) {
			c, err := g.yard.CreateCluster(t.Context(), "ann", fleet.NewCluster{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			return g.bootstrap(agentkey.BootstrapRequest{ClusterID: c.ID, ClusterName: c.Name}), c.ID
		}
		own, id := fixed("edge-1")
		others, _ := fixed("edge-2")
		a, b := newAgent(t, "uid-1"), newAgent(t, "uid-2")
		if _, err := g.Register(t.Context(), own.Secret, a.registration("")); err != nil {
			t.Fatal(err)
		}
		_, err := g.Register(t.Context(), others.Secret, a.registration(""))
		wantCode(t, err, errcode.Conflict)
		// It did not consume a use of that token, whose cluster can still register.
		if _, err := g.Register(t.Context(), others.Secret, b.registration("")); err != nil {
			t.Errorf("the cluster that the token is for: %v", err)
		}
		_, err = g.Register(t.Context(), others.Secret, a.registration(""))
		wantCode(t, err, errcode.Conflict)
		if r, err := g.Register(t.Context(), own.Secret, a.registration("")); err != nil || r.ClusterID != id {
			t.Errorf("its own token once more: %+v, %v", r, err)
		}
	})
}

func TestDeployTokenIsGoodUntilItsSuccessorIsUsed(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		a, r := g.registered("edge-1")
		use := func(bearer string) error {
			p, err := g.Authenticate(t.Context(), bearer)
			if err == nil && (p.Kind != identity.KindCluster || p.ID != r.ClusterID || p.By() != "agent edge-1") {
				t.Errorf("principal %+v", p)
			}
			return err
		}
		g.yard.clock.Advance(12 * time.Hour)
		eventually.For(t, time.Minute, "the database was reached at the new time", func() error { return use(r.DeployToken) })
		lost, err := g.Renew(t.Context(), a.renewal(r.ClusterID, g.yard.clock.Now()))
		if err != nil {
			t.Fatal(err)
		}
		g.yard.clock.Advance(time.Second)
		renewed, err := g.Renew(t.Context(), a.renewal(r.ClusterID, g.yard.clock.Now()))
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
		if err := g.RevokeCluster(t.Context(), r.ClusterID); err != nil {
			t.Fatal(err)
		}
		wantCode(t, use(renewed.DeployToken), errcode.Unauthorized)
		_, err = g.Renew(t.Context(), a.renewal(r.ClusterID, g.yard.clock.Now()))
		wantCode(t, err, errcode.Unauthorized)
	})
}

func TestRenewalIsSignedFreshAndUsedOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		a, r := g.registered("edge-1")
		now := g.yard.clock.Now()
		good := a.renewal(r.ClusterID, now.Add(-9*time.Minute))
		renewed, err := g.Renew(t.Context(), good)
		if err != nil {
			t.Fatal(err)
		}
		payload := agentkey.KeysPayload(renewed.SigningKeys)
		if !ed25519.Verify(r.SigningKeys[0].PublicKey, payload, renewed.Signature.Bytes) || renewed.Signature.KeyID != r.SigningKeys[0].ID {
			t.Error("the keys are not signed by the one that the agent pinned")
		}
		tampered := a.renewal(r.ClusterID, now)
		tampered.BootID = "boot-9"
		for name, bad := range map[string]agentkey.Renewal{
			"replay": good, "old": a.renewal(r.ClusterID, now.Add(-11*time.Minute)), "ahead": a.renewal(r.ClusterID, now.Add(11*time.Minute)),
			"tampered": tampered, "other key": newAgent(t, a.uid).renewal(r.ClusterID, now),
		} {
			if _, err := g.Renew(t.Context(), bad); !errcode.Is(err, errcode.Unauthorized) {
				t.Errorf("%s: err = %v", name, err)
			}
		}
	})
}

func TestTwoAgentsOnOneIdentityAreShown(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		a, r := g.registered("edge-1")
		check := func(boot string) error { return g.CheckBoot(t.Context(), r.ClusterID, boot) }
		message := func() string {
			t.Helper()
			view, err := g.yard.Cluster(t.Context(), "edge-1")
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
		wantCode(t, check("boot-1"), errcode.Conflict)
		if message() == "" {
			t.Error("two boots in turns are not shown")
		}
		a.boot = "boot-1"
		_, err := g.Renew(t.Context(), a.renewal(r.ClusterID, g.yard.clock.Now()))
		wantCode(t, err, errcode.Conflict)
		g.yard.clock.Advance(20 * time.Minute)
		if err := check("boot-2"); err != nil || message() != "" {
			t.Errorf("after the second agent stopped: %v, %q", err, message())
		}
		copied := *a
		copied.uid, copied.boot = "uid-copy", "boot-3"
		_, err = g.Renew(t.Context(), copied.renewal(r.ClusterID, g.yard.clock.Now()))
		wantCode(t, err, errcode.Conflict)
		if message() == "" {
			t.Error("two clusters on one key are not shown")
		}
	})
}

// TestAKeySetHasTheSignaturesOfOneReading checks that a renewal loses no signature
// when another replica's rotation empties the keys in memory at that moment.
func TestAKeySetHasTheSignaturesOfOneReading(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		a, r := g.registered("edge-1")
		for range 2 {
			if _, err := g.RotateSigningKey(t.Context()); err != nil {
				t.Fatal(err)
			}
			g.yard.clock.Advance(49 * time.Hour)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				_ = g.Signer.Rebuild(ctx)
			}
		}()
		for range 50 {
			renewed, err := g.Renew(t.Context(), a.renewal(r.ClusterID, g.yard.clock.Now()))
			if err != nil {
				t.Error(err)
				break
			}
			if n := 1 + len(renewed.More); n != 3 {
				t.Errorf("%d signatures, want one of each of 3 keys", n)
				break
			}
		}
		stop()
		<-ended
	})
}

// TestRotationsReachAgentsThatWereOff checks that whichever key an agent pinned
// within a year, a renewal brings the keys in force under a signature that it knows.
func TestRotationsReachAgentsThatWereOff(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		a, r := g.registered("edge-1")
		pinned := r.SigningKeys
		rotate := func() {
			t.Helper()
			made, err := g.RotateSigningKey(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			pinned = append(pinned, made)
			g.yard.clock.Advance(49 * time.Hour)
		}
		for range 3 {
			rotate()
		}
		known := func(renewed agentkey.Renewed, key agentkey.SigningKey) bool {
			payload := agentkey.KeysPayload(renewed.SigningKeys)
			for _, s := range append(renewed.More, renewed.Signature) {
				if s.KeyID == key.ID && ed25519.Verify(key.PublicKey, payload, s.Bytes) {
					return true
				}
			}
			return false
		}
		renewed, err := g.Renew(t.Context(), a.renewal(r.ClusterID, g.yard.clock.Now()))
		if err != nil {
			t.Fatal(err)
		}
		for i, key := range pinned {
			if !known(renewed, key) {
				t.Errorf("key %d of %d does not vouch for the present ones", i, len(pinned))
			}
		}
		if len(renewed.SigningKeys) != 2 {
			t.Errorf("%d keys are in force, want the last two", len(renewed.SigningKeys))
		}
		g.yard.clock.Advance(366 * 24 * time.Hour)
		_, _ = g.RotateSigningKey(t.Context()) // Conflict when the directory did so by itself
		g.yard.clock.Advance(49 * time.Hour)
		if renewed, err = g.Renew(t.Context(), a.renewal(r.ClusterID, g.yard.clock.Now())); err != nil {
			t.Fatal(err)
		}
		if known(renewed, pinned[0]) {
			t.Error("a year later, a key that was retired then still vouches")
		}
	})
}

func TestSigningKeysRotateByThemselves(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		if _, err := g.Sign(t.Context(), []byte("list")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- g.Keys.Run(ctx) }()
		count := func() int {
			keys, err := g.SigningKeys(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(keys)
		}
		g.yard.clock.Advance(89 * 24 * time.Hour)
		g.yard.clock.Advance(2 * time.Hour)
		if n := count(); n != 1 {
			t.Errorf("%d keys after 89 days", n)
		}
		err := eventually.Wait(t.Context(), time.Minute, func() error {
			g.yard.clock.Advance(2 * time.Hour)
			if n := count(); n != 2 {
				return fmt.Errorf("%d keys", n)
			}
			return nil
		})
		cancel()
		if err != nil || <-ended != nil {
			t.Error(err)
		}
	})
}

func TestSigningKeysRotate(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		sign := func() agentkey.Signature {
			t.Helper()
			s, err := g.Sign(t.Context(), []byte("list"))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		first := sign()
		second, err := g.RotateSigningKey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := sign(); got.KeyID != first.KeyID {
			t.Error("a key that agents do not know yet signs")
		}
		_, err = g.RotateSigningKey(t.Context())
		wantCode(t, err, errcode.Conflict)
		g.yard.clock.Advance(48 * time.Hour)
		got := sign()
		if got.KeyID != second.ID || !ed25519.Verify(second.PublicKey, []byte("list"), got.Bytes) {
			t.Errorf("signed by %s, want %s", got.KeyID, second.ID)
		}
		if _, err := g.RotateSigningKey(t.Context()); err != nil {
			t.Fatal(err)
		}
		keys, err := g.SigningKeys(t.Context())
		if err != nil || len(keys) != 2 || keys[0].ID != second.ID {
			t.Errorf("keys in force %v, %v", keys, err)
		}
	})
}
