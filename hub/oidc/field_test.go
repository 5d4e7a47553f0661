package oidc_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/eventually"
)

// Clock skew, as docs/sign-in.md describes it: the hub compares with its own clock only, and an
// application whose clock is 5 minutes fast accepts ID tokens.
func TestClocksDifferByFiveMinutes(t *testing.T) {
	b := newBed(t, storetest.SQLite(t), 1)
	b.user("bob@example.com")
	token := b.scoped(t, b.visitor("bob@example.com"), "openid email").text("id_token")
	provider, err := oidc.NewProvider(t.Context(), b.url+"/oidc")
	if err != nil {
		t.Fatal(err)
	}
	for skew, valid := range map[time.Duration]bool{0: true, 5 * time.Minute: true, -5 * time.Minute: true, 11 * time.Minute: false} {
		now := func() time.Time { return b.Fleet.Clock.Now().Add(skew) }
		if _, err := provider.Verifier(&oidc.Config{ClientID: app, Now: now}).Verify(t.Context(), token); (err == nil) != valid {
			t.Errorf("a clock that is off by %s: %v", skew, err)
		}
	}
	// What an application sends of its clock changes nothing: a proof is as old as the hub says.
	if q := b.visitor("bob@example.com").authorize(map[string]string{"max_age": "300"}); q.Get("code") == "" {
		t.Errorf("max_age: %v", q)
	}
}

// Whoever is in 2,000 groups logs in where a filter leaves few of them, and is refused with that
// sentence where they do not fit.
func TestTwoThousandGroups(t *testing.T) {
	d := storetest.SQLite(t)
	b := newBed(t, d, 1)
	u := b.user("bob@example.com")
	if _, err := b.CreateGroup(t.Context(), b.Ann.Name, "team-00000", ""); err != nil {
		t.Fatal(err)
	}
	if err := b.AddMember(t.Context(), b.Ann.Name, "team-00000", u.Name); err != nil {
		t.Fatal(err)
	}
	d.Copies(t, "user_groups", "name = 'team-00000'", 1999, map[string]string{"id": storetest.Numbered("grp-"), "name": storetest.Numbered("team-")})
	d.Copies(t, "group_members", "user_id = '"+u.ID+"'", 1999, map[string]string{"group_id": storetest.Numbered("grp-")})
	if err := b.replicas[0].Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := b.visitor(u.Name)
	v.get(b.url + "/oidc/authorize?" + asked(nil).Encode())
	if v.status != http.StatusTooManyRequests && v.status != http.StatusForbidden || !strings.Contains(v.problem(), "fit into a login") {
		t.Errorf("all groups: %d %s", v.status, v.problem())
	}
	if a := b.scoped(t, v, "openid email"); claimsOf(t, a.text("id_token"))["groups"] != nil {
		t.Errorf("groups that were not asked for")
	}
	b.clients.change(app, func(c *application.Client) { c.GroupsPrefix = "team-019" })
	groups, _ := claimsOf(t, b.scoped(t, v, "openid groups").text("id_token"))["groups"].([]any)
	if len(groups) != 100 {
		t.Errorf("%d groups with the prefix", len(groups))
	}
}

// What people reported of other identity providers; test/field/identity has the reports.
func TestReportsOfIdentityProviders(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, replicasOn(d))
		b.run()
		u := b.user("bob@example.com")
		b.clients.change(app, func(c *application.Client) { c.PostLogoutRedirectURIs = []string{"https://orders.example.com/bye"} })
		basic := func(user, password string, form url.Values) answer {
			t.Helper()
			r := b.form("/token", "203.0.113.77:1", form)
			r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
			return b.send(r)
		}
		own := url.Values{"grant_type": {"client_credentials"}}
		for name, try := range map[string]func() error{
			"a secret with + and % is sent as it is": func() error {
				defer b.clients.secret(secret)
				for _, text := range []string{"aB3+dE5+/=gH7jK9", "100%safe%secret%x", "50%25 of a secret", "with:a colon+inside"} {
					b.clients.secret(text)
					for how, sent := range map[string]string{"as it is": text, "encoded": url.QueryEscape(text), "as a browser does": strings.ReplaceAll(url.QueryEscape(text), "+", "%20")} {
						if a := basic(app, sent, own); a.status != http.StatusOK {
							return fmt.Errorf("%q %s: %d %v", text, how, a.status, a.body)
						}
					}
					if a := basic(app, text+"x", own); a.text("error") != "invalid_client" {
						return fmt.Errorf("%q and more: %v", text, a.body)
					}
				}
				return nil
			},
			"many refreshes at once end nothing": func() error {
				first := b.scoped(t, b.visitor(u.Name), "openid offline_access").text("refresh_token")
				answers := make(chan answer, 10)
				for range 10 {
					go func() { answers <- b.refresh(first) }()
				}
				next := map[string]bool{}
				for range 10 {
					a := <-answers
					if a.status != http.StatusOK {
						return fmt.Errorf("%d %v", a.status, a.body)
					}
					next[a.text("refresh_token")] = true
				}
				if len(next) != 1 {
					return fmt.Errorf("%d successors", len(next))
				}
				for token := range next {
					if a := b.refresh(token); a.status != http.StatusOK {
						return fmt.Errorf("the successor: %d %v", a.status, a.body)
					}
				}
				return nil
			},
			"an expired hint logs out": func() error {
				v := b.visitor(u.Name)
				hint := b.scoped(t, v, "openid").text("id_token")
				b.Fleet.Clock.Advance(11 * time.Minute)
				v.get(b.url + "/oidc/logout?" + url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {"https://orders.example.com/bye"}, "state": {"s t&x"}}.Encode())
				if to := v.header.Get("Location"); to != "https://orders.example.com/bye?state=s+t%26x" {
					return fmt.Errorf("led to %q: %d %s", to, v.status, v.problem())
				}
				// The session is gone; the link still leads back.
				v.get(b.url + "/oidc/logout?" + url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {"https://orders.example.com/bye"}}.Encode())
				if to := v.header.Get("Location"); to != "https://orders.example.com/bye" {
					return fmt.Errorf("a second time led to %q: %d %s", to, v.status, v.problem())
				}
				return nil
			},
			"a logout without a hint asks, and refuses nothing": func() error {
				v := b.visitor(u.Name)
				v.get(b.url + "/oidc/logout?" + url.Values{"client_id": {app}, "post_logout_redirect_uri": {"https://orders.example.com/bye"}}.Encode())
				if v.status != http.StatusOK || v.url.Path != "/logout" {
					return fmt.Errorf("%d %s", v.status, v.url)
				}
				return nil
			},
			"letters of a redirect URI stay": func() error {
				const jenkins = "https://CI.example.com/securityRealm/finishLogin"
				b.clients.change(app, func(c *application.Client) { c.RedirectURIs = append(c.RedirectURIs, jenkins) })
				v := b.visitor(u.Name)
				code := v.authorize(map[string]string{"redirect_uri": jenkins}).Get("code")
				if !strings.HasPrefix(v.header.Get("Location"), jenkins+"?") {
					return fmt.Errorf("led to %s", v.header.Get("Location"))
				}
				if a := tradeWith(b, code, map[string]string{"redirect_uri": jenkins}); a.status != http.StatusOK {
					return fmt.Errorf("%d %v", a.status, a.body)
				}
				return nil
			},
			"groups are a list, also of nobody's": func() error {
				claims := claimsOf(t, b.scoped(t, b.visitor(u.Name), "openid email groups").text("id_token"))
				text, err := json.Marshal(claims["groups"])
				if err != nil || string(text) != "[]" || claims["email"] != u.Name || claims["email_verified"] != true {
					return fmt.Errorf("groups %s in %v", text, claims)
				}
				return nil
			},
			"the issuer is the same everywhere": func() error {
				r := b.get("/.well-known/openid-configuration", "203.0.113.78:1")
				found := b.send(r)
				claims := claimsOf(t, b.scoped(t, b.visitor(u.Name), "openid").text("id_token"))
				if found.text("issuer") != b.url+"/oidc" || claims["iss"] != found.text("issuer") || strings.HasSuffix(found.text("issuer"), "/") {
					return fmt.Errorf("%v and %v", found.text("issuer"), claims["iss"])
				}
				return nil
			},
			"a refresh with fewer scopes keeps the login": func() error {
				first := b.scoped(t, b.visitor(u.Name), "openid email offline_access")
				less := b.call("/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {first.text("refresh_token")}, "scope": {"openid"}})
				if less.status != http.StatusOK || claimsOf(t, less.text("id_token"))["email"] != nil {
					return fmt.Errorf("fewer: %d %v", less.status, less.body)
				}
				again := b.refresh(less.text("refresh_token"))
				if again.status != http.StatusOK || claimsOf(t, again.text("id_token"))["email"] != u.Name {
					return fmt.Errorf("all again: %d %v", again.status, again.body)
				}
				return nil
			},
			"an unknown scope is left out": func() error {
				a := b.scoped(t, b.visitor(u.Name), "openid email address phone custom:thing")
				if scope := strings.Fields(a.text("scope")); slices.Contains(scope, "address") || a.status != http.StatusOK {
					return fmt.Errorf("%d %v", a.status, a.body)
				}
				return nil
			},
			"prompt=none with a session that has ended answers the application": func() error {
				v := b.visitor(u.Name)
				v.authorize(nil)
				v.get(b.url + "/logout")
				v.decide("/logout", "")
				stale := b.visitor("")
				at, err := url.Parse(b.url)
				if err != nil {
					return err
				}
				stale.client.Jar.SetCookies(at, []*http.Cookie{{Name: "axle-session", Value: "axle_s_that-has-ended", Path: "/"}})
				for name, one := range map[string]*visitor{"logged out": v, "a cookie of nobody's": stale} {
					if q := one.authorize(map[string]string{"prompt": "none"}); q.Get("error") != "login_required" || q.Get("state") != "st" {
						return fmt.Errorf("%s: %v", name, q)
					}
				}
				return nil
			},
			"prompt=login with a hint and a session asks, and leads back to the request": func() error {
				v := b.visitor(u.Name)
				b.Fleet.Clock.Advance(2e9)
				v.get(b.url + "/oidc/authorize?" + asked(map[string]string{"prompt": "login", "login_hint": u.Name}).Encode())
				next, err := url.Parse(v.url.Query().Get("next"))
				if err != nil || v.url.Path != "/login/again" || next.Path != "/oidc/authorize" || next.Query().Get("state") != "st" || next.Query().Get("redirect_uri") != callback {
					return fmt.Errorf("led to %s", v.url)
				}
				return nil
			},
			"a device that was in a hurry once is let in at its pace": func() error {
				begun := b.call("/device", url.Values{"scope": {"openid"}})
				poll := func(after time.Duration) string {
					b.Fleet.Clock.Advance(after)
					return b.call("/token", url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {begun.text("device_code")}}).text("error")
				}
				if first, hurry := poll(0), poll(time.Second); first != "authorization_pending" || hurry != "slow_down" {
					return fmt.Errorf("%s, and then %s", first, hurry)
				}
				for n := range 8 {
					if got := poll(5 * time.Second); got != "authorization_pending" {
						return fmt.Errorf("poll %d, 5 s apart: %s", n, got)
					}
				}
				return nil
			},
			"a page of another origin may ask who somebody is": func() error {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, b.url+"/oidc/userinfo", nil)
				if err != nil {
					return err
				}
				for name, value := range map[string]string{"Origin": "https://spa.example.com", "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"} {
					r.Header.Set(name, value)
				}
				a := b.send(r)
				if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "Authorization") || a.header.Get("Access-Control-Allow-Credentials") != "" {
					return fmt.Errorf("preflight: %d %v", a.status, a.header)
				}
				for path, answer := range map[string]answer{"userinfo": b.userinfo("axo_a_nothing"), "token": b.call("/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"x"}})} {
					if answer.header.Get("Access-Control-Allow-Origin") != "*" {
						return fmt.Errorf("%s: %v", path, answer.header)
					}
				}
				return nil
			},
			"a refreshed ID token is of the same session": func() error {
				first := b.scoped(t, b.visitor(u.Name), "openid offline_access")
				was, is := claimsOf(t, first.text("id_token")), claimsOf(t, b.refresh(first.text("refresh_token")).text("id_token"))
				if was["sid"] == nil || was["sid"] != is["sid"] || was["sub"] != is["sub"] || was["auth_time"] != is["auth_time"] || was["nonce"] != "no" {
					return fmt.Errorf("%v, and then %v", was, is)
				}
				return nil
			},
			"a state comes back as it was sent": func() error {
				v := b.visitor(u.Name)
				for _, state := range []string{`{"id":"a b","next":"/x?y=1&z=2#top"}`, "%2B+%23#&=;", "é€😀", "a/b//c\\d", strings.Repeat("s", 1000)} {
					if q := v.authorize(map[string]string{"state": state}); q.Get("state") != state || q.Get("code") == "" {
						return fmt.Errorf("%q came back as %q", state, q.Get("state"))
					}
				}
				v.get(b.url + "/oidc/authorize?" + asked(map[string]string{"state": strings.Repeat("s", 3000)}).Encode())
				if v.status < 400 || v.problem() == "" || v.header.Get("Location") != "" {
					return fmt.Errorf("a state of 3,000 characters: %d %s", v.status, v.page)
				}
				return nil
			},
			"signs in a secret count at each endpoint": func() error {
				defer b.clients.secret(secret)
				const odd = "#NdhM!3?:R+7_8{EsKU44W(%25"
				b.clients.secret(odd)
				for _, path := range []string{"/introspect", "/revoke"} {
					r := b.form(path, "203.0.113.79:1", url.Values{"token": {"axo_a_nothing"}})
					r.SetBasicAuth(app, odd)
					if a := b.send(r); a.status != http.StatusOK {
						return fmt.Errorf("%s: %d %v", path, a.status, a.body)
					}
					if a := b.call(path, url.Values{"client_id": {app}, "client_secret": {odd}, "token": {"axo_a_nothing"}}); a.status != http.StatusOK {
						return fmt.Errorf("%s, in the form: %d %v", path, a.status, a.body)
					}
				}
				return nil
			},
			"max_age brings auth_time, and 0 asks again": func() error {
				v := b.visitor(u.Name)
				q := v.authorize(map[string]string{"max_age": "3600"})
				if claims := claimsOf(t, b.trade(q.Get("code")).text("id_token")); claims["auth_time"] == nil {
					return fmt.Errorf("claims %v", claims)
				}
				b.Fleet.Clock.Advance(2e9)
				v.get(b.url + "/oidc/authorize?" + asked(map[string]string{"max_age": "0"}).Encode())
				if v.url.Path != "/login/again" {
					return fmt.Errorf("max_age=0 led to %s", v.url)
				}
				if q := v.authorize(map[string]string{"max_age": "0", "prompt": "none"}); q.Get("error") != "login_required" {
					return fmt.Errorf("max_age=0 silently: %v", q)
				}
				return nil
			},
			"the metadata names all scopes and methods": func() error {
				found := b.send(b.get("/.well-known/openid-configuration", "203.0.113.80:1"))
				for field, want := range map[string]string{"scopes_supported": "offline_access", "code_challenge_methods_supported": "S256", "id_token_signing_alg_values_supported": "RS256", "grant_types_supported": "refresh_token"} {
					if all, _ := found.body[field].([]any); !slices.Contains(all, any(want)) {
						return fmt.Errorf("%s: %v", field, found.body[field])
					}
				}
				return nil
			},
			"each session of a person is notified of": func() error {
				n := b.notices(0)
				carol := b.user("carol@example.com")
				sids := map[any]bool{}
				for range 2 {
					sids[claimsOf(t, b.scoped(t, b.visitor(carol.Name), "openid").text("id_token"))["sid"]] = true
				}
				if err := b.DeleteUser(t.Context(), b.Ann.Name, carol.Name); err != nil {
					return err
				}
				eventually.For(t, limit, "both sessions are notified of", func() error {
					b.Fleet.Clock.Advance(1e9)
					if all := n.all(); len(all) < 2 {
						return fmt.Errorf("%d notices", len(all))
					}
					return nil
				})
				for _, token := range n.all() {
					claims := claimsOf(t, token)
					if delete(sids, claims["sid"]); claims["exp"] == nil || claims["jti"] == nil || claims["aud"] != app {
						return fmt.Errorf("claims %v", claims)
					}
				}
				if len(sids) != 0 {
					return errors.New("a session was not named")
				}
				return nil
			},
		} {
			if err := try(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
