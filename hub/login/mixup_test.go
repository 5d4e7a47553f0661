package login_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/test/oidcserver"
)

// stopped goes through a provider up to its answer, which it returns.
func (v *visitor) stopped(b *bed, p *oidcserver.Server, u oidcserver.User) (callback string) {
	v.t.Helper()
	v.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), b.URL+"/login/callback/") {
			return http.ErrUseLastResponse
		}
		return nil
	}
	defer func() { v.client.CheckRedirect = nil }()
	v.through("idp", p, u)
	callback = v.header.Get("Location")
	if !strings.Contains(callback, "code=") {
		v.t.Fatalf("no answer of the provider: %d %s", v.status, v.page)
	}
	return callback
}

// Of two providers one may be malicious: an answer counts only for the provider
// at which the login began.
func TestAnswersOfAnotherProviderAreRefused(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", nil, bob)
	b.provider("other", nil, bob)
	for name, change := range map[string]func(callback string) string{
		"to the other one's address":      func(c string) string { return strings.Replace(c, "/login/callback/idp", "/login/callback/other", 1) },
		"that names another issuer":       func(c string) string { return c + "&iss=" + url.QueryEscape("https://evil.example.com") },
		"that names a part of the issuer": func(c string) string { return c + "&iss=" + url.QueryEscape(p.URL+"/") },
	} {
		v := b.visitor("198.51.100.61")
		v.get(change(v.stopped(b, p, bob)))
		if v.status != http.StatusUnauthorized || v.sessionCookie() != "" {
			t.Errorf("an answer %s: %d %s", name, v.status, v.page)
		}
	}
	v := b.visitor("198.51.100.61")
	v.get(v.stopped(b, p, bob) + "&iss=" + url.QueryEscape(p.URL))
	if who := v.who(); who != bob.Email {
		t.Errorf("an answer that names its issuer: %q %s", who, v.page)
	}
}

// A state is valid only once, even where the provider accepts its own code
// twice.
func TestStateIsNotPlayedAgain(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", nil, bob)
	p.RepeatCodes()
	base, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	v := b.visitor("198.51.100.62")
	callback := v.stopped(b, p, bob)
	kept := v.client.Jar.Cookies(base)
	v.get(callback)
	if who := v.who(); who != bob.Email {
		t.Fatalf("logged in as %q", who)
	}
	again := b.visitor("198.51.100.62")
	again.client.Jar.SetCookies(base, kept)
	again.get(callback)
	if again.status != http.StatusUnauthorized || again.sessionCookie() != "" || !strings.Contains(again.page, "was used") {
		t.Errorf("the same answer again: %d %s", again.status, again.page)
	}
}

// What user info adds must be about the account of the ID token.
func TestUserInfoOfSomebodyElseIsRefused(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", nil, bob)
	p.Tamper(func(k *oidcserver.Token) { delete(k.Claims, "email") })
	v := b.visitor("198.51.100.63")
	v.through("idp", p, bob)
	if who := v.who(); who != bob.Email {
		t.Fatalf("an address from user info: %q", who)
	}
	p.Inform(func(claims map[string]any) { claims["sub"], claims["email"] = "s-carol", carol.Email })
	w := b.visitor("198.51.100.63")
	w.through("idp", p, bob)
	if w.status != http.StatusUnauthorized || w.sessionCookie() != "" || !strings.Contains(w.page, "about somebody else") {
		t.Errorf("user info of another subject: %d %s", w.status, w.page)
	}
}

// User info that is read for groups says nothing of an address that the token has.
func TestUserInfoDoesNotVerifyTheTokensAddress(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", func(p *account.Provider) { p.GroupsClaim = "groups" }, bob)
	p.Tamper(func(k *oidcserver.Token) {
		delete(k.Claims, "groups")
		k.Claims["email"], k.Claims["email_verified"] = bob.Email, false
	})
	p.Inform(func(claims map[string]any) {
		claims["email"], claims["email_verified"], claims["groups"] = bob.Email, true, []string{"everybody"}
	})
	v := b.visitor("198.51.100.65")
	v.through("idp", p, bob)
	if v.status != http.StatusForbidden || v.sessionCookie() != "" || !strings.Contains(v.page, "has not verified") {
		t.Errorf("%d %s", v.status, v.page)
	}
}

// An existing account is not given to an address that nobody verified.
func TestUnverifiedProviderTakesNobodysAccount(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", func(p *account.Provider) { p.AllowUnverified = true }, bob, carol)
	if _, err := b.identity().CreateUser(t.Context(), owner, identity.KindUser, carol.Email, true); err != nil {
		t.Fatal(err)
	}
	v := b.visitor("198.51.100.64")
	v.through("idp", p, carol)
	if v.status != http.StatusForbidden || v.sessionCookie() != "" || !strings.Contains(v.page, "does not verify addresses") {
		t.Errorf("the account of an administrator: %d %s", v.status, v.page)
	}
	w := b.visitor("198.51.100.64")
	w.through("idp", p, bob)
	if who := w.who(); who != bob.Email {
		t.Errorf("the login created a separate account: %q", who)
	}
}

// A provider looks after the second factors of those who come through it.
func TestAccountOfAProviderGetsNoPasskey(t *testing.T) {
	b := localhostBed(t)
	if _, err := b.identity().SetupLocal(t.Context(), b.setupToken(), owner, password); err != nil {
		t.Fatal(err)
	}
	p := b.provider("idp", nil, bob)
	v := b.visitor("198.51.100.65")
	v.through("idp", p, bob)
	v.get("/login/account")
	v.post("/login/account/key/options", url.Values{})
	if v.status < 400 || strings.Contains(v.page, "challenge") {
		t.Errorf("a passkey beside a provider: %d %s", v.status, v.page)
	}
}
