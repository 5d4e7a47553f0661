package oidc_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/store/storetest"
)

// What the hub gives ends by the clock, at the time that docs/sign-in.md says: a moment before it
// is taken, and a moment later refused.
func TestWhatIsGivenEndsByTheClock(t *testing.T) {
	b := newBed(t, storetest.SQLite(t), 1)
	b.run()
	u := b.user("bob@example.com")
	device := func() func() string {
		begun := b.call("/device", url.Values{"scope": {"openid"}})
		return func() string {
			return b.call("/token", url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {begun.text("device_code")}}).text("error")
		}
	}
	for name, c := range map[string]struct {
		lives time.Duration
		// give returns what uses it: an empty text when it is taken.
		give func() func() string
		// taken is what a device code gets until somebody answers.
		taken string
	}{
		"a code": {lives: time.Minute, give: func() func() string {
			code := b.visitor(u.Name).authorize(nil).Get("code")
			return func() string { return b.trade(code).text("error") }
		}},
		"an access token": {lives: 15 * time.Minute, give: func() func() string {
			token := b.scoped(t, b.visitor(u.Name), "openid").text("access_token")
			return func() string {
				if a := b.userinfo(token); a.status != http.StatusOK {
					return fmt.Sprint(a.status)
				}
				return ""
			}
		}},
		"a device code": {lives: 10 * time.Minute, give: device, taken: "authorization_pending"},
		"a refresh token that is not used": {lives: 30 * 24 * time.Hour, give: func() func() string {
			token := b.scoped(t, b.visitor(u.Name), "openid offline_access").text("refresh_token")
			return func() string { return b.refresh(token).text("error") }
		}},
	} {
		for by, ends := range map[time.Duration]bool{-5 * time.Second: false, 5 * time.Second: true} {
			use := c.give()
			b.later(c.lives + by)
			if got := use(); (got != c.taken) != ends {
				t.Errorf("%s, %s after its end: %q", name, by, got)
			}
		}
	}
}

// A login ends a year after it began, however often its refresh token is used.
func TestALoginEndsAfterAYear(t *testing.T) {
	b := newBed(t, storetest.SQLite(t), 1)
	const day = 24 * time.Hour
	token := b.scoped(t, b.visitor(b.user("bob@example.com").Name), "openid offline_access").text("refresh_token")
	age := time.Duration(0)
	use := func(after time.Duration) answer {
		t.Helper()
		b.Fleet.Clock.Advance(after)
		if err := b.replicas[0].Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		age += after
		a := b.refresh(token)
		token = a.text("refresh_token")
		return a
	}
	for age+28*day < 365*day {
		if a := use(28 * day); a.status != http.StatusOK {
			t.Fatalf("after %d days: %d %v", age/day, a.status, a.body)
		}
	}
	if a := use(365*day - age - time.Minute); a.status != http.StatusOK {
		t.Errorf("a minute before its end: %d %v", a.status, a.body)
	}
	if a := use(2 * time.Minute); a.text("error") != "invalid_grant" {
		t.Errorf("a year after the login: %d %v", a.status, a.body)
	}
}
