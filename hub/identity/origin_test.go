package identity_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/identitytest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// callerOf returns the caller of a token.
func callerOf(env *identitytest.Identity, made identity.CreatedToken) identity.Principal {
	env.T.Helper()
	p, err := env.Authenticate(env.T.Context(), made.Secret)
	if err != nil {
		env.T.Fatal(err)
	}
	return p
}

// Revoking a token at one replica also revokes, on all replicas, the tokens
// that it created and those that they created, even where a replica knew only
// the last of them.
func TestTokensEndWithTheirMakerOnEveryReplica(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		other := env.Replica()
		root := env.AddToken(identity.TokenRequest{Name: "root"})
		chain, by := []identity.CreatedToken{root}, callerOf(env, root)
		for i := range 3 {
			made, err := env.CreateToken(t.Context(), by, identity.TokenRequest{Name: fmt.Sprint("made ", i)})
			if err != nil {
				t.Fatal(err)
			}
			chain, by = append(chain, made), callerOf(env, made)
		}
		last := chain[len(chain)-1]
		if _, err := other.Authenticate(t.Context(), last.Secret); err != nil {
			t.Fatalf("the last one at another replica: %v", err)
		}
		if err := env.RevokeToken(t.Context(), env.Ann, root.ID); err != nil {
			t.Fatal(err)
		}
		for _, made := range chain {
			if _, err := env.Authenticate(t.Context(), made.Secret); !errcode.Is(err, errcode.Unauthorized) {
				t.Errorf("%s at the replica that revoked: %v", made.Name, err)
			}
			if _, err := env.Caller(t.Context(), made.ID); !errcode.Is(err, errcode.Unauthorized) {
				t.Errorf("what was begun with %s goes on: %v", made.Name, err)
			}
			eventually.For(t, time.Minute, "the other replica refuses it", func() error {
				if _, err := other.Authenticate(t.Context(), made.Secret); !errcode.Is(err, errcode.Unauthorized) {
					return fmt.Errorf("%s: %w", made.Name, err)
				}
				return nil
			})
		}
		if all, err := env.Tokens(t.Context(), env.Ann); err != nil || len(all) != 1 {
			t.Errorf("%d tokens are listed, want ann's first alone: %v", len(all), err)
		}
		// Their rows go, too.
		eventually.For(t, time.Minute, "the rows are swept", func() error {
			env.Fleet.Clock.Advance(20 * time.Minute)
			left, err := env.Fleet.Store.OwnedTokens(t.Context(), env.Ann.ID)
			if err == nil && len(left) != 1 {
				err = fmt.Errorf("%d rows", len(left))
			}
			return err
		})
	})
}

// Two accounts do not prolong each other, and no tower of tokens grows without
// end.
func TestDescentIsBounded(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		for _, name := range []string{"one", "two"} {
			if _, err := env.CreateServiceAccount(t.Context(), env.Ann, name, true); err != nil {
				t.Fatal(err)
			}
		}
		request := identity.TokenRequest{Name: "t", Scopes: []string{"admin"}}
		one, err := env.CreateServiceAccountToken(t.Context(), env.Ann, "one", request)
		if err != nil || one.EndsWith != "" || one.Origin.MadeBy() != "ann@example.com" {
			t.Fatalf("%+v %v", one, err)
		}
		two, err := env.CreateServiceAccountToken(t.Context(), callerOf(env, one), "two", request)
		if err != nil || two.EndsWith != "" {
			t.Fatalf("%+v %v", two, err)
		}
		_, err = env.CreateServiceAccountToken(t.Context(), callerOf(env, two), "one", request)
		fleettest.WantCode(t, err, errcode.Forbidden)
		again, err := env.CreateServiceAccountToken(t.Context(), callerOf(env, two), "two", request)
		if err != nil || again.EndsWith != two.ID {
			t.Errorf("a token of its own account: %+v %v", again, err)
		}
		_, err = env.CreateServiceAccountToken(t.Context(), callerOf(env, again), "one", request)
		fleettest.WantCode(t, err, errcode.Forbidden)
		for range 7 {
			if again, err = env.CreateToken(t.Context(), callerOf(env, again), request); err != nil {
				t.Fatal(err)
			}
		}
		_, err = env.CreateToken(t.Context(), callerOf(env, again), request)
		fleettest.WantCode(t, err, errcode.Forbidden)
	})
}
