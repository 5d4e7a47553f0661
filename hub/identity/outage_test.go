package identity_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/identitytest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
)

func TestKnownTokensWorkAnHourWithoutDatabase(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		made := env.AddToken(identity.TokenRequest{Name: "ci"})
		db := &identitytest.Flaky{Store: env.Fleet.Store}
		parts := identitytest.On(env.Fleet, db.In)
		_, err := parts.Authenticate(t.Context(), made.Secret)
		fleettest.WantCode(t, err, errcode.Unavailable)
		if err := parts.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if _, err := parts.Authenticate(t.Context(), made.Secret); err != nil {
				t.Fatal(err)
			}
		}
		if n := db.LookUps.Load(); n != 0 {
			t.Errorf("100 requests with a known token cost %d queries", n)
		}
		// One that is refused is not asked about again, however often it is shown.
		for range 100 {
			_, err := parts.Authenticate(pool.From(t.Context(), "192.0.2.77:5"), made.Secret+"x")
			fleettest.WantCode(t, err, errcode.Unauthorized)
		}
		if n := db.LookUps.Load(); n > 1 {
			t.Errorf("100 requests with one unknown token cost %d queries", n)
		}
		db.LookUps.Store(0)
		for n := range 100 {
			_, err := parts.Authenticate(pool.From(t.Context(), "192.0.2.1:5"), made.Secret+strconv.Itoa(n))
			if n < 20 {
				fleettest.WantCode(t, err, errcode.Unauthorized)
			} else {
				fleettest.WantCode(t, err, errcode.Exhausted)
			}
		}
		if n := db.LookUps.Load(); n > 20 {
			t.Errorf("100 requests with unknown tokens within a second cost %d queries, want at most 20", n)
		}
		// Who has just got a token from another replica is not held up by them.
		fresh := env.AddToken(identity.TokenRequest{Name: "fresh"})
		if _, err := parts.Authenticate(pool.From(t.Context(), "192.0.2.9:5"), fresh.Secret); err != nil {
			t.Errorf("a token of another replica, while somebody shows unknown ones: %v", err)
		}
		db.Away.Store(true)
		env.Fleet.Clock.Advance(time.Hour)
		if _, err := parts.Authenticate(t.Context(), made.Secret); err != nil {
			t.Errorf("after an hour: %v", err)
		}
		env.Fleet.Clock.Advance(time.Second)
		_, err = parts.Authenticate(t.Context(), made.Secret)
		fleettest.WantCode(t, err, errcode.Unavailable)
	})
}

// While the database does not answer, a token that another replica created a
// moment ago is not refused as unknown: its agent would treat it as revoked.
func TestTokenThatCannotBeLookedUpIsNotRefused(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := identitytest.New(t, d)
		db := &identitytest.Flaky{Store: env.Fleet.Store}
		parts := identitytest.On(env.Fleet, db.In)
		if err := parts.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		made := env.AddToken(identity.TokenRequest{Name: "ci"})
		db.Away.Store(true)
		_, err := parts.Authenticate(t.Context(), made.Secret)
		fleettest.WantCode(t, err, errcode.Unavailable)
		if errcode.RetryAfter(err) == 0 {
			t.Error("nobody is told when to come back")
		}
		_, err = parts.Caller(t.Context(), made.ID)
		fleettest.WantCode(t, err, errcode.Unavailable)
		db.Away.Store(false)
		if _, err := parts.Authenticate(t.Context(), made.Secret); err != nil {
			t.Errorf("once the database answers: %v", err)
		}
	})
}
