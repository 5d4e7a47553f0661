package identity_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/identitytest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

func TestRevokedTokenIsRefusedByEveryReplica(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		other := env.Replica()
		made := env.AddToken(identity.TokenRequest{Name: "ci", Scopes: []string{"read"}})
		p2, err := other.Authenticate(t.Context(), made.Secret)
		if err != nil || p2.HasScope(identity.ScopeWrite) || p2.By() != "ann@example.com" {
			t.Errorf("another replica sees %+v, %v", p2, err)
		}
		if err := env.RevokeToken(t.Context(), env.Ann, made.ID); err != nil {
			t.Fatal(err)
		}
		_, err = env.Authenticate(t.Context(), made.Secret)
		fleettest.WantCode(t, err, errcode.Unauthorized)
		eventually.For(t, time.Minute, "the other replica refuses it", func() error {
			if _, err := other.Authenticate(t.Context(), made.Secret); !errcode.Is(err, errcode.Unauthorized) {
				return fmt.Errorf("err = %w", err)
			}
			return nil
		})
	})
}

func TestTokensExpireAndCannotExceedTheirMaker(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		made := env.AddToken(identity.TokenRequest{Name: "ci", Scopes: []string{"write"}})
		if days := time.Duration(made.ExpiresAt-made.CreatedAt) * time.Microsecond / (24 * time.Hour); days != 90 {
			t.Errorf("lives %d days, want 90", days)
		}
		writer, err := env.Authenticate(t.Context(), made.Secret)
		if err != nil {
			t.Fatal(err)
		}
		_, err = env.CreateToken(t.Context(), writer, identity.TokenRequest{Name: "more", Scopes: []string{"admin"}})
		fleettest.WantCode(t, err, errcode.Forbidden)
		fleettest.WantCode(t, env.RevokeToken(t.Context(), identity.Principal{Kind: identity.KindUser, ID: "eve"}, made.ID), errcode.NotFound)
		short := env.AddToken(identity.TokenRequest{Name: "short", Lifetime: time.Minute})
		env.Fleet.Clock.Advance(time.Minute)
		_, err = env.Authenticate(t.Context(), short.Secret)
		fleettest.WantCode(t, err, errcode.Unauthorized)
		// What was begun with it ends as well.
		_, err = env.Caller(t.Context(), short.ID)
		fleettest.WantCode(t, err, errcode.Unauthorized)
		if p, err := env.Caller(t.Context(), made.ID); err != nil || p.ID != env.Ann.ID {
			t.Errorf("the caller of a good token is %+v, %v", p, err)
		}
	})
}

// lateStore does something once between the read of a token and what follows.
type lateStore struct {
	identity.TokenReader
	then func()
}

func (s *lateStore) TokenByHash(ctx context.Context, hash []byte) (identity.Token, error) {
	t, err := s.TokenReader.TokenByHash(ctx, hash)
	if then := s.then; then != nil {
		s.then = nil
		then()
	}
	return t, err
}

// A replica that does not know a token reads the database, and the token is
// revoked in that moment: its row in the feed may already have been processed.
func TestATokenRevokedWhileItIsLookedUpIsRefused(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		late := &lateStore{TokenReader: env.Fleet.Store}
		// Its feed does not run, so that nothing else removes the token.
		parts := identitytest.On(env.Fleet, func(s *identitytest.Stores) { s.Identity.Index = late })
		if err := parts.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		good, gone := env.AddToken(identity.TokenRequest{Name: "good"}), env.AddToken(identity.TokenRequest{Name: "gone"})
		if _, err := parts.Authenticate(t.Context(), good.Secret); err != nil {
			t.Errorf("a token that the replica had not heard of: %v", err)
		}
		late.then = func() {
			if err := env.RevokeToken(t.Context(), env.Ann, gone.ID); err != nil {
				t.Error(err)
			}
		}
		for range 2 {
			_, err := parts.Authenticate(t.Context(), gone.Secret)
			fleettest.WantCode(t, err, errcode.Unauthorized)
		}
		if late.then != nil {
			t.Error("the database was not asked")
		}
	})
}

// Those of people, of pipelines' runs and of long ago are none of an administrator's.
func TestTokensOfServiceAccountsThatEndAreListedForAdministratorsAlone(t *testing.T) {
	const day = 24 * time.Hour
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		if _, err := env.CreateServiceAccount(t.Context(), env.Ann, "ci", false); err != nil {
			t.Fatal(err)
		}
		for name, life := range map[string]time.Duration{"later": 90 * day, "soon": 30 * day, "sooner": 25 * day, "run": day, "ended": 15 * day} {
			if _, err := env.CreateServiceAccountToken(t.Context(), env.Ann, "ci", identity.TokenRequest{Name: name, Lifetime: life}); err != nil {
				t.Fatal(err)
			}
		}
		env.AddToken(identity.TokenRequest{Name: "mine", Lifetime: 30 * day})
		env.Fleet.Clock.Advance(24*day - time.Hour)
		if err := env.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		names := func(by identity.Principal) (all []string) {
			t.Helper()
			found, err := env.EndingTokens(t.Context(), by, (7 * day).Microseconds(), (14 * day).Microseconds())
			if err != nil {
				t.Fatal(err)
			}
			for _, token := range found {
				all = append(all, token.OwnerName+"/"+token.Name)
			}
			return all
		}
		if got, want := names(env.Ann), []string{"ci/sooner", "ci/soon"}; !slices.Equal(got, want) {
			t.Errorf("an administrator gets %q, want %q", got, want)
		}
		bob, _ := env.AddUser("bob@example.com")
		narrow := env.Ann
		narrow.Scopes = []string{identity.ScopeRead}
		for who, by := range map[string]identity.Principal{"a user": bob, "a token that may only read": narrow} {
			if got := names(by); got != nil {
				t.Errorf("%s gets %q", who, got)
			}
		}
	})
}

// A token that may only read ends itself and what it created, and nothing else of its
// person's.
func TestAReadTokenEndsOnlyItselfAndItsOwn(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		secret := env.AddToken(identity.TokenRequest{Name: "reader", Scopes: []string{"read"}}).Secret
		reader, err := env.Authenticate(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		child, err := env.CreateToken(t.Context(), reader, identity.TokenRequest{Name: "child"})
		if err != nil {
			t.Fatal(err)
		}
		beside := env.AddToken(identity.TokenRequest{Name: "beside", Scopes: []string{"read"}})
		for _, id := range []string{beside.ID, env.Ann.TokenID} {
			fleettest.WantCode(t, env.RevokeToken(t.Context(), reader, id), errcode.Forbidden)
		}
		if _, err := env.Authenticate(t.Context(), beside.Secret); err != nil {
			t.Errorf("the token beside it: %v", err)
		}
		for _, id := range []string{child.ID, reader.TokenID} {
			if err := env.RevokeToken(t.Context(), reader, id); err != nil {
				t.Errorf("its own: %v", err)
			}
		}
	})
}
