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

// An address that nobody verified names nobody: it stays free for its owner, and what is
// bound to the owner reaches no one else.
func TestUnverifiedAddressesNameNobody(t *testing.T) {
	b, _ := newBed(t)
	open := b.provider("open", func(p *account.Provider) { p.AllowUnverified = true }, bob, carol)
	corp := b.provider("corp", nil, bob, carol)
	unverified := map[string]func(*oidcserver.Token){
		"said": func(k *oidcserver.Token) { k.Claims["email"], k.Claims["email_verified"] = carol.Email, false },
		"left out": func(k *oidcserver.Token) {
			k.Claims["email"] = carol.Email
			delete(k.Claims, "email_verified")
		},
	}
	for name, tamper := range unverified {
		open.Tamper(tamper)
		first := b.visitor("198.51.100.70")
		first.through("open", open, bob)
		if who := first.who(); who != "open:"+carol.Email {
			t.Errorf("%s: somebody with an address of carol's is %q", name, who)
		}
	}
	owner := b.visitor("198.51.100.71")
	owner.through("corp", corp, carol)
	if who := owner.who(); who != carol.Email {
		t.Errorf("carol, who comes later, is %q: %d %s", who, owner.status, owner.page)
	}
	// Another account that claims the address as well is not the first one's user.
	second := b.visitor("198.51.100.72")
	open.Tamper(unverified["said"])
	second.through("open", open, carol)
	if second.status != http.StatusForbidden || second.sessionCookie() != "" {
		t.Errorf("a second account with the address is %q: %d", second.who(), second.status)
	}
	// Entra ID verifies the owner of the domain, and says so in its own claim.
	open.Tamper(func(k *oidcserver.Token) {
		delete(k.Claims, "email_verified")
		k.Claims["sub"], k.Claims["email"], k.Claims["xms_edov"] = "another", "dan@example.com", true
	})
	dan := b.visitor("198.51.100.73")
	dan.through("open", open, bob)
	if who := dan.who(); who != "dan@example.com" {
		t.Errorf("an address whose domain's owner is verified names %q: %d %s", who, dan.status, dan.page)
	}
}

// The Kelvin sign is no k: not for the user, and not for the domains that may log in.
func TestAddressesAreComparedAsASCII(t *testing.T) {
	b, _ := newBed(t)
	if _, err := b.identity().CreateUser(t.Context(), owner, identity.KindUser, "kim@kube.example", true); err != nil {
		t.Fatal(err)
	}
	p := b.provider("idp", func(p *account.Provider) { p.EmailDomains = []string{"Kube.example"} }, bob)
	says := func(address string) *visitor {
		p.Tamper(func(k *oidcserver.Token) { k.Claims["sub"], k.Claims["email"] = address, address })
		v := b.visitor("198.51.100.74")
		v.through("idp", p, bob)
		return v
	}
	for _, address := range []string{"\u212Aim@kube.example", "kim@\u212Aube.example", "k\u0131m@kube.example", "кim@kube.example", "kim@kube.example\u200B"} {
		if v := says(address); v.status != http.StatusForbidden || v.sessionCookie() != "" {
			t.Errorf("%q is let in as %q: %d", address, v.who(), v.status)
		}
	}
	if v := says("KIM@KUBE.example"); v.who() != "kim@kube.example" {
		t.Errorf("in capitals: %q, %d %s", v.who(), v.status, v.page)
	}
}
