package oidc_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/eventually"
)

// notices is an application's URL for logouts, which refuses the first ones.
type notices struct {
	mu     sync.Mutex
	refuse int
	tokens []string
}

// ServeHTTP implements http.Handler.
func (n *notices) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refuse > 0 {
		n.refuse--
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	n.tokens = append(n.tokens, r.PostFormValue("logout_token"))
}

func (n *notices) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string{}, n.tokens...)
}

// notices lets the client app be notified of logouts.
func (b *bed) notices(refuse int) *notices {
	b.T.Helper()
	n := &notices{refuse: refuse}
	s := httptest.NewServer(n)
	b.T.Cleanup(s.Close)
	b.clients.change(app, func(c *application.Client) { c.BackChannelLogoutURI = s.URL })
	return n
}

// one waits for the only notice, and lets time pass for what is tried again.
func (b *bed) one(n *notices) map[string]any {
	b.T.Helper()
	eventually.For(b.T, limit, "the application is notified", func() error {
		b.Fleet.Clock.Advance(1e9)
		if all := n.all(); len(all) != 1 {
			return fmt.Errorf("%d notices", len(all))
		}
		return nil
	})
	token := n.all()[0]
	if typ := headOf(b.T, token)["typ"]; typ != "logout+jwt" {
		b.T.Errorf("the type of the token is %v", typ)
	}
	claims := b.verified(token)
	events, _ := claims["events"].(map[string]any)
	if _, ok := events["http://schemas.openid.net/event/backchannel-logout"]; !ok || claims["nonce"] != nil {
		b.T.Errorf("claims of a logout token: %v", claims)
	}
	return claims
}

// ended waits until a refresh token is gone.
func (b *bed) ended(token string) {
	b.T.Helper()
	eventually.For(b.T, limit, "the login has ended", func() error {
		if a := b.call("/introspect", url.Values{"token": {token}}); a.body["active"] != false {
			return errors.New("the refresh token is active")
		}
		return nil
	})
}

// An application that shows an ID token of the session logs the person out, without a page;
// the other application of the session is notified, again if it does not answer.
func TestApplicationsLogPeopleOut(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, replicasOn(d))
		b.run()
		u, n := b.user("bob@example.com"), b.notices(2)
		b.clients.change(app, func(c *application.Client) { c.PostLogoutRedirectURIs = []string{"https://orders.example.com/bye"} })
		v := b.visitor("bob@example.com")
		stays, goes := b.scoped(t, v, "openid offline_access"), b.scoped(t, v, "openid email")
		party, _ := b.openidClient(app, secret)
		end := party.address("logoutURL", map[string]any{"parameters": map[string]any{"id_token_hint": goes.text("id_token"), "post_logout_redirect_uri": "https://orders.example.com/bye", "state": "x"}})
		v.get(end)
		if to := v.header.Get("Location"); v.status != http.StatusSeeOther || to != "https://orders.example.com/bye?state=x" {
			t.Fatalf("logged out: %d to %q: %s", v.status, to, v.page)
		}
		if q := v.authorize(map[string]string{"prompt": "none"}); q.Get("error") != "login_required" {
			t.Errorf("after the logout: %v", q)
		}
		claims := b.one(n)
		if claims["sub"] != u.ID || claims["sid"] != claimsOf(t, goes.text("id_token"))["sid"] {
			t.Errorf("claims %v", claims)
		}
		for _, a := range []answer{stays, goes} {
			if a := b.userinfo(a.text("access_token")); a.status != http.StatusUnauthorized {
				t.Errorf("an access token after the logout: %d", a.status)
			}
		}
		if a := b.refresh(stays.text("refresh_token")); a.status != http.StatusOK {
			t.Errorf("offline access after the logout: %v", a)
		}
	})
}

// Nobody is logged out by a link alone, nor sent elsewhere.
func TestALogoutNeedsAnIDTokenOfTheSession(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, 1)
		b.user("bob@example.com")
		b.user("carol@example.com")
		b.clients.change(app, func(c *application.Client) { c.PostLogoutRedirectURIs = []string{"https://orders.example.com/bye"} })
		v := b.visitor("bob@example.com")
		other := b.scoped(t, b.visitor("carol@example.com"), "openid").text("id_token")
		for name, q := range map[string]url.Values{
			"no token":               {},
			"the client's id only":   {"client_id": {app}, "post_logout_redirect_uri": {"https://orders.example.com/bye"}},
			"somebody else's token":  {"id_token_hint": {other}},
			"an unregistered URI":    {"id_token_hint": {other}, "post_logout_redirect_uri": {"https://evil.example.com/"}},
			"a token of nobody":      {"id_token_hint": {"eyJhbGciOiJub25lIn0.e30."}},
			"a token of another hub": {"id_token_hint": {other[:len(other)-4] + "AAAA"}},
		} {
			v.get(b.url + "/oidc/logout?" + q.Encode())
			if strings.Contains(v.header.Get("Location"), "example.com") {
				t.Errorf("%s: led to %s", name, v.header.Get("Location"))
			}
			if got := v.authorize(map[string]string{"prompt": "none"}); got.Get("error") == "login_required" {
				t.Fatalf("%s: logged out", name)
			}
		}
	})
}

// Whoever is removed, in whichever way, has no login left, and the application is notified.
func TestRemovedPeopleAreLoggedOut(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, 1)
		b.run()
		ctx := t.Context()
		member := func(name string) {
			t.Helper()
			if err := b.AddMember(ctx, b.Ann.Name, "orders", name); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.CreateGroup(ctx, b.Ann.Name, "orders", ""); err != nil {
			t.Fatal(err)
		}
		for name, remove := range map[string]func(u identity.User) error{
			"the user":    func(u identity.User) error { return b.DeleteUser(ctx, b.Ann.Name, u.Name) },
			"the member":  func(u identity.User) error { return b.RemoveMember(ctx, b.Ann.Name, "orders", u.Name) },
			"the binding": func(u identity.User) error { return b.unbind(u.Name) },
			"the group":   func(identity.User) error { return b.DeleteGroup(ctx, b.Ann.Name, "orders") },
		} {
			if _, err := b.CreateGroup(ctx, b.Ann.Name, "orders", ""); err == nil {
				b.T.Log("the group is there again")
			}
			u := b.user(strings.ReplaceAll(name, " ", "-") + "@example.com")
			member(u.Name)
			b.clients.change(app, func(c *application.Client) { c.Users, c.Groups = nil, []string{"orders"} })
			n := b.notices(0)
			tokens := b.scoped(t, b.visitor(u.Name), "openid offline_access")
			if err := remove(u); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			b.ended(tokens.text("refresh_token"))
			if claims := b.one(n); claims["sub"] != u.ID {
				t.Errorf("%s: claims %v", name, claims)
			}
		}
	})
}

// Tokens are described to clients of the project that show a secret, and revoked by their own.
func TestTokensAreDescribedAndRevoked(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, replicasOn(d))
		u := b.user("bob@example.com")
		party, _ := b.openidClient(app, secret)
		v := b.visitor("bob@example.com")
		tokens := b.scoped(t, v, "openid email offline_access")
		access, refresh := tokens.text("access_token"), tokens.text("refresh_token")
		info := party.do("introspect", map[string]any{"token": access})
		if info["active"] != true || info["sub"] != u.ID || info["email"] != u.Name || info["client_id"] != app {
			t.Errorf("introspected %v", info)
		}
		if info := party.do("introspect", map[string]any{"token": "axo_a_nothing"}); len(info) != 1 || info["active"] != false {
			t.Errorf("what is no token: %v", info)
		}
		if a := b.call("/introspect", url.Values{"client_id": {native}, "token": {access}}); a.status != http.StatusUnauthorized {
			t.Errorf("a public client asks: %v", a)
		}
		b.call("/revoke", url.Values{"client_id": {native}, "token": {refresh}})
		if a := b.userinfo(access); a.status != http.StatusOK {
			t.Errorf("another client revoked a token: %d", a.status)
		}
		party.do("revoke", map[string]any{"token": access})
		if a := b.userinfo(access); a.status != http.StatusUnauthorized {
			t.Errorf("a revoked access token: %d", a.status)
		}
		again := b.refresh(refresh)
		party.do("revoke", map[string]any{"token": again.text("refresh_token")})
		if a := b.refresh(again.text("refresh_token")); a.text("error") != "invalid_grant" {
			t.Errorf("a revoked refresh token: %v", a)
		}
		if a := b.userinfo(again.text("access_token")); a.status != http.StatusUnauthorized {
			t.Errorf("an access token of a login that was revoked: %d", a.status)
		}
	})
}
