package account_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/identity/identitytest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// session is a session of ann's, who has just logged in.
func session(env *identitytest.Identity) (identity.CreatedToken, identity.Principal) {
	env.T.Helper()
	made := env.Login("ann@example.com")
	p, err := env.AuthenticateSession(env.T.Context(), made.Secret)
	if err != nil {
		env.T.Fatal(err)
	}
	return made, p
}

// A session that ends at one replica is refused by the others within 5 s, as a
// token is.
func TestRevokedSessionStopsWithin5s(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		other := env.Replica()
		ann, err := env.UserByName(t.Context(), "ann@example.com")
		if err != nil {
			t.Fatal(err)
		}
		for name, end := range map[string]func(identity.CreatedToken) error{
			"one": func(s identity.CreatedToken) error { return env.EndSession(t.Context(), env.Ann, s.ID) },
			"all": func(identity.CreatedToken) error {
				_, err := env.EndSessions(t.Context(), env.Ann, "", false)
				return err
			},
		} {
			s, err := env.StartSession(t.Context(), ann, account.SessionTerms{Method: account.MethodPassword}, "")
			if err != nil {
				t.Fatal(err)
			}
			if who, err := other.AuthenticateSession(t.Context(), s.Secret); err != nil || who.Name != ann.Name {
				t.Fatalf("%s: another replica: %+v, %v", name, who, err)
			}
			if err := end(s); err != nil {
				t.Fatal(err)
			}
			if _, err := env.AuthenticateSession(t.Context(), s.Secret); !errcode.Is(err, errcode.Unauthorized) {
				t.Errorf("%s: here: %v", name, err)
			}
			// The commit wakes the other one's feed, whose next poll would come
			// 3 s later; a loaded machine gets more time.
			eventually.For(t, time.Minute, "the other replica refuses the session", func() error {
				_, err := other.AuthenticateSession(t.Context(), s.Secret)
				if errcode.Is(err, errcode.Unauthorized) {
					return nil
				}
				return errcode.New(errcode.Internal, "still let in: %v", err)
			})
		}
		// Sessions of other users stay.
		s, err := env.StartSession(t.Context(), ann, account.SessionTerms{Method: account.MethodPassword}, "")
		if err != nil {
			t.Fatal(err)
		}
		eve := identity.Principal{Kind: identity.KindUser, ID: "usr_eve", Name: "eve", Scopes: []string{"admin"}}
		fleettest.WantCode(t, env.EndSession(t.Context(), eve, s.ID), errcode.NotFound)
		reader := env.Ann
		reader.Scopes = []string{identity.ScopeRead}
		fleettest.WantCode(t, env.EndSession(t.Context(), reader, s.ID), errcode.Forbidden)
		_, err = env.EndSessions(t.Context(), eve, ann.ID, false)
		fleettest.WantCode(t, err, errcode.Forbidden)
	})
}

// What a session makes while a reset runs is ended by it, or is refused.
func TestNothingIsMadeBesideAReset(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		for range 20 {
			_, thief := session(env)
			var made identity.CreatedToken
			var failed error
			var both sync.WaitGroup
			both.Go(func() { made, failed = env.CreateToken(t.Context(), thief, identity.TokenRequest{Name: "lasting"}) })
			both.Go(func() {
				if _, _, err := env.PrepareReset(t.Context(), identity.Principal{Name: "root"}, "ann@example.com", false); err != nil {
					t.Error(err)
				}
			})
			both.Wait()
			if failed != nil {
				fleettest.WantCode(t, failed, errcode.Unauthorized)
				continue
			}
			if _, err := env.Fleet.Store.Token(t.Context(), made.ID); !errcode.Is(err, errcode.NotFound) {
				t.Fatalf("a token was made beside the reset: %v", err)
			}
		}
	})
}

// A copy of the cookie gains nothing from the person's proof.
func TestProofGivesTheSessionAnotherValue(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		other := env.Replica()
		old, who := session(env)
		if _, err := other.AuthenticateSession(t.Context(), old.Secret); err != nil {
			t.Fatal(err)
		}
		env.Fleet.Clock.Advance(11 * time.Minute)
		_, err := env.CreateToken(t.Context(), who, identity.TokenRequest{Name: "late"})
		fleettest.WantCode(t, err, errcode.Forbidden)
		proved, err := env.Prove(t.Context(), who, env.Fleet.Clock.Now().UnixMicro())
		if err != nil {
			t.Fatal(err)
		}
		for name, parts := range map[string]identitytest.Parts{"here": env.Parts, "elsewhere": other} {
			eventually.For(t, time.Minute, name+" the old value is nobody's", func() error {
				if _, err := parts.AuthenticateSession(t.Context(), old.Secret); !errcode.Is(err, errcode.Unauthorized) {
					return fmt.Errorf("the old value: %w", err)
				}
				return nil
			})
			p, err := parts.AuthenticateSession(t.Context(), proved.Secret)
			if err != nil || p.TokenID != who.TokenID {
				t.Errorf("%s the new value: %+v %v", name, p, err)
			}
		}
		if _, err := env.CreateToken(t.Context(), who, identity.TokenRequest{Name: "now"}); err != nil {
			t.Errorf("after the proof: %v", err)
		}
	})
}

// What a session began ends with it, also when the session ends for want of use and no
// sweep has come by.
func TestASessionThatIsNotUsedCallsNoMore(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		made, _ := session(env)
		parts := identitytest.On(env.Fleet, nil)
		if err := parts.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The database answers, and nothing of the session.
		later := func(by time.Duration) {
			t.Helper()
			env.Fleet.Clock.Advance(by)
			if err := parts.Apply(t.Context(), []event.Row{{Change: event.Change{Kind: event.KindToken, Key: "another"}}}); err != nil {
				t.Fatal(err)
			}
		}
		later(11 * time.Hour)
		if who, err := parts.Caller(t.Context(), made.ID); err != nil || who.Name != "ann@example.com" {
			t.Errorf("after 11 h: %+v, %v", who, err)
		}
		later(2 * time.Hour)
		_, err := parts.Caller(t.Context(), made.ID)
		fleettest.WantCode(t, err, errcode.Unauthorized)
	})
}
