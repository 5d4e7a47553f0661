package login_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/internal/errcode"
)

// principal returns the caller of a bearer token.
func (b *bed) principal(bearer string) identity.Principal {
	b.t.Helper()
	p, err := b.identity().Authenticate(b.t.Context(), bearer)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// session returns the caller of a visitor's session.
func (b *bed) session(v *visitor) identity.Principal {
	b.t.Helper()
	p, err := b.identity().AuthenticateSession(b.t.Context(), v.sessionCookie())
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

// A token that was stolen for a minute makes none that lives for a year.
func TestTokenLivesNoLongerThanItsMaker(t *testing.T) {
	b, v := newBed(t)
	d := b.identity()
	stolen, err := d.CreateToken(t.Context(), b.session(v), identity.TokenRequest{Name: "short", Lifetime: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	thief := b.principal(stolen.Secret)
	if made, err := d.CreateToken(t.Context(), thief, identity.TokenRequest{Name: "long", Lifetime: 366 * 24 * time.Hour}); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("a token of one minute made one until %d: %v", made.ExpiresAt, err)
	}
	made, err := d.CreateToken(t.Context(), thief, identity.TokenRequest{Name: "as long"})
	if err != nil || made.ExpiresAt > stolen.ExpiresAt {
		t.Errorf("it lives until %d, its maker until %d: %v", made.ExpiresAt, stolen.ExpiresAt, err)
	}
	boot, err := d.CreateBootstrapToken(t.Context(), thief, agentkey.BootstrapRequest{Lifetime: 366 * 24 * time.Hour})
	if err == nil {
		t.Errorf("a token of one minute made a bootstrap token until %d", boot.ExpiresAt)
	}
	if err := d.RevokeToken(t.Context(), b.session(v), stolen.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Authenticate(t.Context(), made.Secret); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("it outlives its maker, which was revoked: %v", err)
	}
}

// A copied cookie creates no tokens and cannot take over the second factor,
// once the login is more than ten minutes ago.
func TestStolenSessionMakesNothingThatLasts(t *testing.T) {
	b, v := newBed(t)
	b.later(11 * time.Minute)
	if _, err := b.identity().CreateToken(t.Context(), b.session(v), identity.TokenRequest{Name: "ci"}); !errcode.Is(err, errcode.Forbidden) {
		t.Errorf("a session of eleven minutes ago makes a token: %v", err)
	}
	v.get("/login/account")
	v.post("/login/account/totp", url.Values{})
	if strings.Contains(v.page, "as a picture for an authenticator") {
		t.Error("it begins with new one-time codes")
	}
}

// A new password is the end of every copy of the cookie, too.
func TestPasswordChangeEndsCopiesOfTheCookie(t *testing.T) {
	b, v := newBed(t)
	thief := b.visitor("203.0.113.66")
	base, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	thief.client.Jar.SetCookies(base, []*http.Cookie{{Name: "axle-session", Value: v.sessionCookie(), Path: "/"}})
	v.get("/login/account")
	v.post("/login/account/password", url.Values{"present": {password}, "password": {fresh}, "again": {fresh}})
	v.wants(http.StatusOK, "Sessions and command lines")
	if thief.who() != "" || v.who() != owner {
		t.Errorf("after a new password the thief is %q, its owner %q", thief.who(), v.who())
	}
}

// A user who lost the password also loses the tokens.
func TestResetEndsTokens(t *testing.T) {
	b, v := newBed(t)
	made, err := b.identity().CreateToken(t.Context(), b.session(v), identity.TokenRequest{Name: "ci"})
	if err != nil {
		t.Fatal(err)
	}
	b.prepare(false)
	if _, err := b.identity().Authenticate(t.Context(), made.Secret); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("an API token works after a reset: %v", err)
	}
}
