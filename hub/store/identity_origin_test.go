package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// as returns the caller of a token.
func (g *gate) as(made identity.CreatedToken) identity.Principal {
	g.t.Helper()
	p, err := g.Authenticate(g.t.Context(), made.Secret)
	if err != nil {
		g.t.Fatal(err)
	}
	return p
}

// session is a session of ann's, who has just logged in.
func (g *gate) session() (identity.CreatedToken, identity.Principal) {
	g.t.Helper()
	ann, err := g.UserByName(g.t.Context(), "ann@example.com")
	if err != nil {
		g.t.Fatal(err)
	}
	made, err := g.StartSession(g.t.Context(), ann, account.SessionTerms{Method: account.MethodPassword, ProvedAt: g.yard.clock.Now().UnixMicro()}, "")
	if err != nil {
		g.t.Fatal(err)
	}
	p, err := g.AuthenticateSession(g.t.Context(), made.Secret)
	if err != nil {
		g.t.Fatal(err)
	}
	return made, p
}

// Revoking a token at one replica also revokes, on all replicas, the tokens
// that it created and those that they created, even where a replica knew only
// the last of them.
func TestTokensEndWithTheirMakerOnEveryReplica(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		other := g.replica()
		root := g.token(identity.TokenRequest{Name: "root"})
		chain, by := []identity.CreatedToken{root}, g.as(root)
		for i := range 3 {
			made, err := g.CreateToken(t.Context(), by, identity.TokenRequest{Name: fmt.Sprint("made ", i)})
			if err != nil {
				t.Fatal(err)
			}
			chain, by = append(chain, made), g.as(made)
		}
		last := chain[len(chain)-1]
		if _, err := other.Authenticate(t.Context(), last.Secret); err != nil {
			t.Fatalf("the last one at another replica: %v", err)
		}
		if err := g.RevokeToken(t.Context(), g.ann, root.ID); err != nil {
			t.Fatal(err)
		}
		for _, made := range chain {
			if _, err := g.Authenticate(t.Context(), made.Secret); !errcode.Is(err, errcode.Unauthorized) {
				t.Errorf("%s at the replica that revoked: %v", made.Name, err)
			}
			if _, err := g.Caller(t.Context(), made.ID); !errcode.Is(err, errcode.Unauthorized) {
				t.Errorf("what was begun with %s goes on: %v", made.Name, err)
			}
			eventually.For(t, time.Minute, "the other replica refuses it", func() error {
				if _, err := other.Authenticate(t.Context(), made.Secret); !errcode.Is(err, errcode.Unauthorized) {
					return fmt.Errorf("%s: %w", made.Name, err)
				}
				return nil
			})
		}
		if all, err := g.Tokens(t.Context(), g.ann); err != nil || len(all) != 1 {
			t.Errorf("%d tokens are listed, want ann's first alone: %v", len(all), err)
		}
		// Their rows go, too.
		eventually.For(t, time.Minute, "the rows are swept", func() error {
			g.yard.clock.Advance(20 * time.Minute)
			left, err := g.yard.store.OwnedTokens(t.Context(), g.ann.ID)
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
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		for _, name := range []string{"one", "two"} {
			if _, err := g.CreateServiceAccount(t.Context(), g.ann, name, true); err != nil {
				t.Fatal(err)
			}
		}
		request := identity.TokenRequest{Name: "t", Scopes: []string{"admin"}}
		one, err := g.CreateServiceAccountToken(t.Context(), g.ann, "one", request)
		if err != nil || one.EndsWith != "" || one.Origin.MadeBy() != "ann@example.com" {
			t.Fatalf("%+v %v", one, err)
		}
		two, err := g.CreateServiceAccountToken(t.Context(), g.as(one), "two", request)
		if err != nil || two.EndsWith != "" {
			t.Fatalf("%+v %v", two, err)
		}
		_, err = g.CreateServiceAccountToken(t.Context(), g.as(two), "one", request)
		wantCode(t, err, errcode.Forbidden)
		again, err := g.CreateServiceAccountToken(t.Context(), g.as(two), "two", request)
		if err != nil || again.EndsWith != two.ID {
			t.Errorf("a token of its own account: %+v %v", again, err)
		}
		_, err = g.CreateServiceAccountToken(t.Context(), g.as(again), "one", request)
		wantCode(t, err, errcode.Forbidden)
		for range 7 {
			if again, err = g.CreateToken(t.Context(), g.as(again), request); err != nil {
				t.Fatal(err)
			}
		}
		_, err = g.CreateToken(t.Context(), g.as(again), request)
		wantCode(t, err, errcode.Forbidden)
	})
}

// What a session makes while a reset runs is ended by it, or is refused.
func TestNothingIsMadeBesideAReset(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		for range 20 {
			_, thief := g.session()
			var made identity.CreatedToken
			var failed error
			var both sync.WaitGroup
			both.Go(func() { made, failed = g.CreateToken(t.Context(), thief, identity.TokenRequest{Name: "lasting"}) })
			both.Go(func() {
				if _, _, err := g.PrepareReset(t.Context(), identity.Principal{Name: "root"}, "ann@example.com", false); err != nil {
					t.Error(err)
				}
			})
			both.Wait()
			if failed != nil {
				wantCode(t, failed, errcode.Unauthorized)
				continue
			}
			if _, err := g.yard.store.Token(t.Context(), made.ID); !errcode.Is(err, errcode.NotFound) {
				t.Fatalf("a token was made beside the reset: %v", err)
			}
		}
	})
}

// A copy of the cookie gains nothing from the person's proof.
func TestProofGivesTheSessionAnotherValue(t *testing.T) {
	onBoth(t, func(t *testing.T, p place) {
		g := newGate(t, p)
		other := g.replica()
		old, who := g.session()
		if _, err := other.AuthenticateSession(t.Context(), old.Secret); err != nil {
			t.Fatal(err)
		}
		g.yard.clock.Advance(11 * time.Minute)
		_, err := g.CreateToken(t.Context(), who, identity.TokenRequest{Name: "late"})
		wantCode(t, err, errcode.Forbidden)
		proved, err := g.Prove(t.Context(), who, g.yard.clock.Now().UnixMicro())
		if err != nil {
			t.Fatal(err)
		}
		for name, d := range map[string]identities{"here": g.identities, "elsewhere": other} {
			eventually.For(t, time.Minute, name+" the old value is nobody's", func() error {
				if _, err := d.AuthenticateSession(t.Context(), old.Secret); !errcode.Is(err, errcode.Unauthorized) {
					return fmt.Errorf("the old value: %w", err)
				}
				return nil
			})
			p, err := d.AuthenticateSession(t.Context(), proved.Secret)
			if err != nil || p.TokenID != who.TokenID {
				t.Errorf("%s the new value: %+v %v", name, p, err)
			}
		}
		if _, err := g.CreateToken(t.Context(), who, identity.TokenRequest{Name: "now"}); err != nil {
			t.Errorf("after the proof: %v", err)
		}
	})
}
