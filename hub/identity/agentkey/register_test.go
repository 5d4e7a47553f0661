package agentkey_test

import (
	"encoding/hex"
	"fmt"
	"sync"
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

func TestBootstrapTagsOutsideAllowListAreRefused(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		request := agentkey.BootstrapRequest{
			NamePattern: "edge-*", AllowedTags: map[string]string{"tier": "dev", "city": "*"}, MaxUses: 10,
		}
		token := env.AddBootstrapToken(request)
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
			r := identitytest.NewAgent(t, "uid "+name).Registration(tc.name)
			r.Tags = tc.tags
			got, err := env.Register(t.Context(), token.Secret, r)
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
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		token := env.AddBootstrapToken(agentkey.BootstrapRequest{})
		a := identitytest.NewAgent(t, "uid-1")
		first, err := env.Register(t.Context(), token.Secret, a.Registration("edge-1"))
		if err != nil {
			t.Fatal(err)
		}
		a.Boot = "boot-2"
		again, err := env.Register(t.Context(), token.Secret, a.Registration("edge-1"))
		if err != nil || again.ClusterID != first.ClusterID || again.DeployToken == first.DeployToken || len(again.SigningKeys) != 1 {
			t.Errorf("again %+v, %v", again, err)
		}
		_, err = env.Register(t.Context(), token.Secret, identitytest.NewAgent(t, "uid-2").Registration("edge-2"))
		fleettest.WantCode(t, err, errcode.Unauthorized)
		forged := a.Registration("edge-1")
		forged.Proof[0] ^= 1
		_, err = env.Register(t.Context(), token.Secret, forged)
		fleettest.WantCode(t, err, errcode.Invalid)
		_, err = env.Register(t.Context(), env.AddToken(identity.TokenRequest{Name: "ci"}).Secret, a.Registration("edge-1"))
		fleettest.WantCode(t, err, errcode.Unauthorized)
	})
}

func TestAFixedTokenNamesItsCluster(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		c := env.NewCluster("edge-1", map[string]string{"tier": "prod"})
		fixed := func() identity.CreatedToken {
			return env.AddBootstrapToken(agentkey.BootstrapRequest{ClusterID: c.ID, ClusterName: c.Name})
		}
		token := fixed()
		if got := time.Duration(token.ExpiresAt-token.CreatedAt) * time.Microsecond; got != time.Hour {
			t.Errorf("lives %s, want 1h", got)
		}
		a := identitytest.NewAgent(t, "uid-1")
		r, err := env.Register(t.Context(), token.Secret, a.Registration(""))
		if err != nil || r.ClusterID != c.ID || r.ClusterName != "edge-1" || r.Pending {
			t.Fatalf("registered %+v, %v", r, err)
		}
		_, err = env.Register(t.Context(), fixed().Secret, identitytest.NewAgent(t, "uid-2").Registration(""))
		fleettest.WantCode(t, err, errcode.Conflict)
		view, err := env.Fleet.Cluster(t.Context(), "edge-1")
		if err != nil || view.Message == "" || view.Tags["tier"] != "prod" {
			t.Errorf("the conflict is not shown: %+v, %v", view, err)
		}
		back := identitytest.NewAgent(t, "uid-1")
		if r, err := env.Register(t.Context(), fixed().Secret, back.Registration("")); err != nil || r.ClusterID != c.ID {
			t.Errorf("the same cluster with a new key: %+v, %v", r, err)
		}
		eventually.For(t, time.Minute, "the old key's token is refused", func() error {
			if _, err := env.Authenticate(t.Context(), r.DeployToken); !errcode.Is(err, errcode.Unauthorized) {
				return fmt.Errorf("err = %w", err)
			}
			return nil
		})
	})
}

// A registered agent proves its identity by its key: a token of another cluster,
// or one that is used up, neither moves it nor gives it a new identity.
func TestATokenOfAnotherClusterRegistersNobodyAgain(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		fixed := func(name string) (identity.CreatedToken, string) {
			c := env.NewCluster(name, nil)
			return env.AddBootstrapToken(agentkey.BootstrapRequest{ClusterID: c.ID, ClusterName: c.Name}), c.ID
		}
		own, id := fixed("edge-1")
		others, _ := fixed("edge-2")
		a, b := identitytest.NewAgent(t, "uid-1"), identitytest.NewAgent(t, "uid-2")
		if _, err := env.Register(t.Context(), own.Secret, a.Registration("")); err != nil {
			t.Fatal(err)
		}
		_, err := env.Register(t.Context(), others.Secret, a.Registration(""))
		fleettest.WantCode(t, err, errcode.Conflict)
		// It did not consume a use of that token, whose cluster can still register.
		if _, err := env.Register(t.Context(), others.Secret, b.Registration("")); err != nil {
			t.Errorf("the cluster that the token is for: %v", err)
		}
		_, err = env.Register(t.Context(), others.Secret, a.Registration(""))
		fleettest.WantCode(t, err, errcode.Conflict)
		if r, err := env.Register(t.Context(), own.Secret, a.Registration("")); err != nil || r.ClusterID != id {
			t.Errorf("its own token once more: %+v, %v", r, err)
		}
	})
}

// All agents of a site start at once with one token.
func TestManyAgentsRegisterWithOneTokenAtOnce(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		const crowd = 60
		token := env.AddBootstrapToken(agentkey.BootstrapRequest{NamePattern: "edge-*", MaxUses: crowd, Approved: true})
		var all sync.WaitGroup
		errs := make([]error, crowd)
		for i := range crowd {
			all.Go(func() {
				a := identitytest.NewAgent(t, fmt.Sprint("uid-", i))
				_, errs[i] = env.Register(t.Context(), token.Secret, a.Registration(fmt.Sprint("edge-", i)))
			})
		}
		all.Wait()
		for i, err := range errs {
			if err != nil {
				t.Errorf("agent %d: %v", i, err)
			}
		}
	})
}

func TestTokensAreStoredHashed(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		api, boot := env.AddToken(identity.TokenRequest{Name: "ci"}), env.AddBootstrapToken(agentkey.BootstrapRequest{})
		_, r := env.AddAgent("edge-1")
		for _, secret := range []string{api.Secret, boot.Secret[:48], r.DeployToken} {
			if len(secret) > 48 {
				t.Errorf("a bearer is %d bytes, want at most 48", len(secret))
			}
			d.WantAbsent(t, secret, "tokens", "events")
		}
		keys, err := env.Fleet.Store.SigningKeys(t.Context())
		if err != nil || len(keys) != 1 {
			t.Fatalf("keys %v, %v", keys, err)
		}
		seed, err := env.Fleet.Sealer.Open(keys[0].Sealed, "signing-key/"+keys[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		d.WantAbsent(t, hex.EncodeToString(seed), "signing_keys")
	})
}
