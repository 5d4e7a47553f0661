package oidc_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
)

// attack is one of RFC 9700, or of our own. try returns what an attacker got, empty for nothing.
type attack struct {
	name string
	try  func(b *bed, v *visitor) string
}

// refused is empty if an answer at an endpoint is an error of OAuth.
func refused(a answer, with string) string {
	if a.text("error") == with && a.text("access_token") == "" {
		return ""
	}
	return fmt.Sprintf("%d %v", a.status, a.body)
}

// stays is empty if a browser was not sent to an application.
func (v *visitor) stays() string {
	if to := v.header.Get("Location"); to != "" || v.status < 400 {
		return fmt.Sprintf("%d to %q", v.status, to)
	}
	return ""
}

// toldBack is empty if the application got an error instead of a code.
func toldBack(q url.Values, with string) string {
	if q.Get("error") == with && q.Get("code") == "" && q.Get("iss") != "" {
		return ""
	}
	return q.Encode()
}

func tradeWith(b *bed, code string, change map[string]string) answer {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}, "code_verifier": {verifier}}
	for name, value := range change {
		if form.Set(name, value); value == "" {
			form.Del(name)
		}
	}
	return b.call("/token", form)
}

var attacks = []attack{
	{"4.1 redirect URIs that are nearly right", func(b *bed, v *visitor) string {
		for _, uri := range []string{
			"https://orders.example.com/cb?tenant=2", "https://orders.example.com/cb/", "https://orders.example.com/CB?tenant=1", "https://orders.example.com.evil.example/cb?tenant=1",
			"https://orders.example.com%2Fcb?tenant=1", "https://orders.example.com/%63b?tenant=1", "https://orders.example.com/cb?tenant=1#x", "http://orders.example.com/cb?tenant=1",
			"https://user@orders.example.com/cb?tenant=1", "https://evil.example/https://orders.example.com/cb?tenant=1", "//orders.example.com/cb?tenant=1", "javascript:alert(1)", "",
		} {
			v.get(b.url + "/oidc/authorize?" + asked(map[string]string{"redirect_uri": uri}).Encode())
			if got := v.stays(); got != "" {
				return uri + ": " + got
			}
		}
		return ""
	}},
	{"4.1 another path of a loopback address", func(b *bed, v *visitor) string {
		for _, uri := range []string{"http://127.0.0.1:1/other", "http://127.0.0.1:1@evil.example/cb", "http://localhost:1/cb", "http://127.0.0.2:1/cb", "https://127.0.0.1:1/cb", "http://127.0.0.1:1/cb?x"} {
			v.get(b.url + "/oidc/authorize?" + asked(map[string]string{"client_id": native, "redirect_uri": uri}).Encode())
			if got := v.stays(); got != "" {
				return uri + ": " + got
			}
		}
		return ""
	}},
	{"4.1 the port of a confidential client", func(b *bed, v *visitor) string {
		b.clients.change(app, func(c *application.Client) { c.RedirectURIs = append(c.RedirectURIs, "http://127.0.0.1:8000/cb") })
		v.get(b.url + "/oidc/authorize?" + asked(map[string]string{"redirect_uri": "http://127.0.0.1:9000/cb"}).Encode())
		return v.stays()
	}},
	{"4.1.3 a client that does not exist", func(b *bed, v *visitor) string {
		v.get(b.url + "/oidc/authorize?" + asked(map[string]string{"client_id": "nobody"}).Encode())
		return v.stays()
	}},
	{"4.2 a referrer with the code", func(_ *bed, v *visitor) string {
		v.authorize(nil)
		if got := v.header.Get("Referrer-Policy"); got != "no-referrer" {
			return got
		}
		return ""
	}},
	{"4.3 a code in an answer that is stored", func(_ *bed, v *visitor) string {
		v.authorize(nil)
		if got := v.header.Get("Cache-Control"); got != "no-store" {
			return got
		}
		return ""
	}},
	{"4.4 mix-up: an answer without the issuer", func(b *bed, v *visitor) string {
		if q := v.authorize(nil); q.Get("iss") != b.url+"/oidc" {
			return q.Encode()
		}
		return toldBack(v.authorize(map[string]string{"scope": "email"}), "invalid_scope")
	}},
	{"4.5 a code of another client", func(b *bed, v *visitor) string {
		code := v.authorize(map[string]string{"client_id": native, "redirect_uri": "http://127.0.0.1:1/cb"}).Get("code")
		return refused(tradeWith(b, code, map[string]string{"redirect_uri": "http://127.0.0.1:1/cb"}), "invalid_grant")
	}},
	{"4.5 a code with another verifier", func(b *bed, v *visitor) string {
		return refused(tradeWith(b, v.authorize(nil).Get("code"), map[string]string{"code_verifier": strings.Repeat("x", 43)}), "invalid_grant")
	}},
	{"4.5 a code for another redirect URI", func(b *bed, v *visitor) string {
		return refused(tradeWith(b, v.authorize(nil).Get("code"), map[string]string{"redirect_uri": plainCallback}), "invalid_grant")
	}},
	{"4.5 a code that failed once", func(b *bed, v *visitor) string {
		code := v.authorize(nil).Get("code")
		tradeWith(b, code, map[string]string{"code_verifier": strings.Repeat("x", 43)})
		return refused(b.trade(code), "invalid_grant")
	}},
	{"4.5 a code that is too old", func(b *bed, v *visitor) string {
		code := v.authorize(nil).Get("code")
		b.Fleet.Clock.Advance(61e9)
		return refused(b.trade(code), "invalid_grant")
	}},
	{"4.7 CSRF: consent from another site", func(b *bed, v *visitor) string {
		v.post(b.url+"/oidc/consent", url.Values{"request": {asked(nil).Encode()}, "answer": {"allow"}})
		return v.stays()
	}},
	{"4.8 PKCE downgrade: plain", func(_ *bed, v *visitor) string {
		return toldBack(v.authorize(map[string]string{"code_challenge": verifier, "code_challenge_method": "plain"}), "invalid_request")
	}},
	{"4.8 PKCE downgrade: no method is plain", func(_ *bed, v *visitor) string {
		return toldBack(v.authorize(map[string]string{"code_challenge_method": ""}), "invalid_request")
	}},
	{"4.8 PKCE downgrade: a public client without it", func(_ *bed, v *visitor) string {
		return toldBack(v.authorize(map[string]string{"client_id": native, "redirect_uri": "http://127.0.0.1:1/cb", "code_challenge": "", "code_challenge_method": ""}), "invalid_request")
	}},
	{"4.8 PKCE downgrade: a verifier for a code without a challenge", func(b *bed, v *visitor) string {
		return refused(b.trade(v.authorize(map[string]string{"code_challenge": "", "code_challenge_method": ""}).Get("code")), "invalid_request")
	}},
	{"4.8 PKCE downgrade: no verifier for a code with a challenge", func(b *bed, v *visitor) string {
		return refused(tradeWith(b, v.authorize(nil).Get("code"), map[string]string{"code_verifier": ""}), "invalid_request")
	}},
	{"4.9 an access token at the hub's API", func(b *bed, v *visitor) string {
		for _, token := range []string{"access_token", "id_token", "refresh_token"} {
			text := b.trade(v.authorize(nil).Get("code")).text(token)
			if p, err := b.Authenticate(b.T.Context(), text); !errcode.Is(err, errcode.Unauthorized) {
				return fmt.Sprint(token, p, err)
			}
		}
		return ""
	}},
	{"4.9 tokens of the hub at the provider", func(b *bed, _ *visitor) string {
		for _, token := range []string{b.AddToken(identity.TokenRequest{Name: "t"}).Secret, b.Login("bob@example.com").Secret} {
			if a := b.userinfo(token); a.status != http.StatusUnauthorized {
				return fmt.Sprint(a)
			}
		}
		return ""
	}},
	{"4.10 a refresh token as an access token, and the reverse", func(b *bed, v *visitor) string {
		a := b.trade(v.authorize(nil).Get("code"))
		if got := b.userinfo(a.text("refresh_token")); got.status != http.StatusUnauthorized {
			return fmt.Sprint(got)
		}
		return refused(b.refresh(a.text("access_token")), "invalid_grant")
	}},
	{"4.10 a refresh token of another client", func(b *bed, v *visitor) string {
		a := b.trade(v.authorize(nil).Get("code"))
		return refused(b.call("/token", url.Values{"client_id": {native}, "grant_type": {"refresh_token"}, "refresh_token": {a.text("refresh_token")}}), "invalid_grant")
	}},
	{"4.10 more scopes than were agreed to", func(b *bed, v *visitor) string {
		a := b.trade(v.authorize(map[string]string{"scope": "openid offline_access"}).Get("code"))
		return refused(b.call("/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {a.text("refresh_token")}, "scope": {"openid groups"}}), "invalid_scope")
	}},
	{"4.11 an open redirect of the login", func(b *bed, v *visitor) string {
		for _, next := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", "/oidc/../..//evil.example"} {
			if v.get(b.url + "/login?next=" + url.QueryEscape(next)); strings.Contains(v.url.Host+v.header.Get("Location"), "evil") {
				return next
			}
		}
		return ""
	}},
	{"4.12 a redirect that repeats what was posted", func(b *bed, v *visitor) string {
		if v.authorize(nil); v.status != http.StatusSeeOther {
			return fmt.Sprint(v.status)
		}
		return ""
	}},
	{"4.16 clickjacking", func(b *bed, v *visitor) string {
		v.get(b.url + "/oidc/authorize?" + asked(map[string]string{"prompt": "consent"}).Encode())
		if v.header.Get("X-Frame-Options") != "DENY" || !strings.Contains(v.header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			return fmt.Sprint(v.header)
		}
		return ""
	}},
	{"a secret in a URL", func(b *bed, v *visitor) string {
		return refused(b.call("/token?client_id="+app+"&client_secret="+url.QueryEscape(secret), url.Values{"client_id": {app}, "grant_type": {"client_credentials"}}), "invalid_request")
	}},
	{"a wrong secret", func(b *bed, v *visitor) string {
		return refused(b.call("/token", url.Values{"client_id": {app}, "client_secret": {"guess"}, "grant_type": {"client_credentials"}}), "invalid_client")
	}},
	{"no secret", func(b *bed, v *visitor) string {
		return refused(tradeWith(b, v.authorize(nil).Get("code"), map[string]string{"client_id": app}), "invalid_client")
	}},
	{"a parameter that stands twice", func(b *bed, v *visitor) string {
		form := url.Values{"grant_type": {"authorization_code", "client_credentials"}, "code": {"x"}}
		if got := refused(b.call("/token", form), "invalid_request"); got != "" {
			return got
		}
		v.get(b.url + "/oidc/authorize?" + asked(nil).Encode() + "&redirect_uri=https://evil.example/")
		return v.stays()
	}},
	{"a request object", func(_ *bed, v *visitor) string {
		return toldBack(v.authorize(map[string]string{"request": "eyJhbGciOiJub25lIn0.e30."}), "request_not_supported")
	}},
	{"the implicit grant", func(_ *bed, v *visitor) string {
		return toldBack(v.authorize(map[string]string{"response_type": "id_token token"}), "unsupported_response_type")
	}},
	{"a code in a fragment", func(_ *bed, v *visitor) string {
		return toldBack(v.authorize(map[string]string{"response_mode": "fragment"}), "invalid_request")
	}},
	{"a password grant", func(b *bed, _ *visitor) string {
		return refused(b.call("/token", url.Values{"grant_type": {"password"}, "username": {"bob@example.com"}, "password": {"x"}}), "unsupported_grant_type")
	}},
	{"a header that cannot be read", func(b *bed, _ *visitor) string {
		r := b.form("/token", "198.51.100.3:1", url.Values{"grant_type": {"authorization_code"}, "code": {"x"}})
		r.SetBasicAuth("%zz", "%zz")
		return refused(b.send(r), "invalid_client")
	}},
	{"a proof of another request", func(b *bed, v *visitor) string {
		b.Fleet.Clock.Advance(2e9)
		v.get(b.url + "/oidc/authorize?" + asked(map[string]string{"prompt": "login"}).Encode())
		next, err := url.Parse(v.url.Query().Get("next"))
		if err != nil || v.url.Path != "/login/again" {
			return v.url.String()
		}
		v.get(b.url + "/oidc/authorize?" + asked(map[string]string{"prompt": "login", "state": "other", "axle_since": next.Query().Get("axle_since")}).Encode())
		if v.url.Path != "/login/again" {
			return v.url.String()
		}
		v.get(b.url + next.String())
		if v.url.Path != "/login/again" {
			return "without a proof: " + v.url.String()
		}
		return ""
	}},
	{"an account in other letters", func(b *bed, _ *visitor) string {
		if _, err := b.CreateUser(b.T.Context(), "ann", identity.KindUser, "BOB@Example.com", false); !errcode.Is(err, errcode.Conflict) {
			return fmt.Sprintf("a second account for one address: %v", err)
		}
		// Hubs had such accounts before they were refused.
		older := identity.User{ID: identity.NewID("usr_"), Kind: identity.KindUser, Name: "BOB@Example.com", CreatedAt: 1}
		if err := b.Fleet.Store.Write(b.T.Context(), func(ctx context.Context) error { return b.Fleet.Store.InsertUser(ctx, older) }); err != nil {
			return err.Error()
		}
		b.bind("BOB@Example.com")
		other := b.visitor("BOB@Example.com")
		if other.get(b.url + "/oidc/authorize?" + asked(nil).Encode()); !strings.Contains(other.page, "in other letters") {
			return fmt.Sprint(other.status, other.page)
		}
		return other.stays()
	}},
}

func TestAttacksGetNothing(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, replicasOn(d))
		b.user("bob@example.com")
		v := b.visitor("bob@example.com")
		v.authorize(nil) // agrees
		v.authorize(map[string]string{"client_id": native, "redirect_uri": "http://127.0.0.1:1/cb"})
		for _, a := range attacks {
			if got := a.try(b, v); got != "" {
				t.Errorf("%s: %s", a.name, got)
			}
		}
	})
}

// What a login says of a person fits, and stays theirs.
func TestClaimsOfPeople(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, 1)
		u := b.user("bob@example.com")
		if _, err := b.CreateGroup(t.Context(), b.Ann.Name, "team-0", ""); err != nil {
			t.Fatal(err)
		}
		if err := b.AddMember(t.Context(), b.Ann.Name, "team-0", u.Name); err != nil {
			t.Fatal(err)
		}
		for n := 1; n < 2000; n += 500 {
			d.Exec(t, many("INSERT INTO user_groups (id, name, description, created_at) VALUES ", n, "('grp_%[1]d', 'team-%[1]d', '', 1)"), many("INSERT INTO group_members (group_id, user_id, source) VALUES ", n, "('grp_%[1]d', '"+u.ID+"', '')"))
		}
		if err := b.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		v := b.visitor(u.Name)
		v.get(b.url + "/oidc/authorize?" + asked(nil).Encode())
		if v.status != http.StatusForbidden || !strings.Contains(v.page, "at most 8192 fit into a login") {
			t.Errorf("2,000 groups: %d %s", v.status, v.page)
		}
		b.clients.change(app, func(c *application.Client) { c.GroupsPrefix = "team-199" })
		claims := claimsOf(t, b.trade(v.authorize(nil).Get("code")).text("id_token"))
		if groups, _ := claims["groups"].([]any); len(groups) != 11 {
			t.Errorf("with a prefix: %v", claims["groups"])
		}
		d.Exec(t, "UPDATE users SET name = 'robert@example.com' WHERE id = '"+u.ID+"'")
		if err := b.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.clients.change(app, func(c *application.Client) { c.Users = []string{"robert@example.com"} })
		if claims := claimsOf(t, b.trade(v.authorize(nil).Get("code")).text("id_token")); claims["sub"] != u.ID || claims["email"] != "robert@example.com" {
			t.Errorf("renamed: %v", claims)
		}
	})
}

// many repeats values 500 times, with a number each.
func many(head string, from int, values string) string {
	var all []string
	for n := from; n < from+500; n++ {
		all = append(all, fmt.Sprintf(values, n))
	}
	return head + strings.Join(all, ", ")
}

// A person who has no second factor is not let in where one is wanted.
func TestASecondFactorIsWanted(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		b := newBed(t, d, 1)
		b.user("bob@example.com")
		b.clients.change(app, func(c *application.Client) { c.SecondFactor = true })
		v := b.visitor("bob@example.com")
		v.get(b.url + "/oidc/authorize?" + asked(nil).Encode())
		if v.status != http.StatusForbidden || !strings.Contains(v.page, "a second factor") {
			t.Errorf("with a password only: %d %s", v.status, v.page)
		}
	})
}
