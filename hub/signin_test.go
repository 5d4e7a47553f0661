package hub_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/eventually"
)

var consentField = regexp.MustCompile(`name="(csrf|request)" value="([^"]*)"`)

// A declared application lets a person in by the hub's session, and nobody once it is
// deleted. Its ID token is nothing where the token of a CI is expected.
func TestADeclaredApplicationLogsPeopleIn(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		const callback, secret = "http://127.0.0.1:1/cb", "a secret of the former provider"
		b.must("Applications/Apply", app("wiki", fmt.Sprintf(`, "clientId": "wiki", "clientSecret": %q, "redirectUris": [%q], "users": ["reader@example.com"]`, secret, callback)))
		parts := b.Parts()
		u, err := parts.Identity.UserByName(t.Context(), "reader@example.com")
		if err != nil {
			t.Fatal(err)
		}
		session, err := parts.Accounts.StartSession(t.Context(), u, account.SessionTerms{Method: account.MethodPassword, ProvedAt: time.Now().UnixMicro()}, "")
		if err != nil {
			t.Fatal(err)
		}
		hub, err := url.Parse(b.URL)
		if err != nil {
			t.Fatal(err)
		}
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		jar.SetCookies(hub, []*http.Cookie{{Name: "axle-session", Value: session.Secret, Path: "/"}})
		browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		query := url.Values{"client_id": {"wiki"}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"openid offline_access"}}
		page, _ := read(t, browser, http.MethodGet, b.URL+"/oidc/authorize?"+query.Encode(), nil)
		form := url.Values{"answer": {"allow"}}
		for _, m := range consentField.FindAllStringSubmatch(page, -1) {
			form.Set(m[1], html.UnescapeString(m[2]))
		}
		_, header := read(t, browser, http.MethodPost, b.URL+"/oidc/consent", form)
		back, err := url.Parse(header.Get("Location"))
		if err != nil || back.Query().Get("code") == "" {
			t.Fatalf("led to %q from %s", header.Get("Location"), page)
		}
		tokens := func(more url.Values) (answer map[string]any) {
			t.Helper()
			more.Set("client_id", "wiki")
			more.Set("client_secret", secret)
			text, _ := read(t, http.DefaultClient, http.MethodPost, b.URL+"/oidc/token", more)
			if err := json.Unmarshal([]byte(text), &answer); err != nil {
				t.Fatal(err)
			}
			return answer
		}
		got := tokens(url.Values{"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {callback}})
		refresh, _ := got["refresh_token"].(string)
		if refresh == "" || got["id_token"] == nil {
			t.Fatalf("tokens %v", got)
		}
		b.must("ServiceAccounts/Create", `{"name": "ci"}`)
		b.must("Federation/Create", `{"name": "ci", "issuer": "https://ci.example.com", "audience": "ci-audience", "account": "ci", "claims": {"repository": "acme/app"}}`)
		b.refused("admin", "Federation/Create", `{"name": "taken", "issuer": "https://ci.example.com", "audience": "wiki", "account": "ci", "claims": {"sub": "usr_*"}}`, http.StatusConflict, "audience")
		b.crossed(got, tokens)
		b.must("Applications/Delete", `{"name": "wiki"}`)
		eventually.For(t, tableLimit, "the login has ended", func() error {
			pairs, err := parts.Store.PairsOf(t.Context(), []string{u.ID})
			if err == nil && len(pairs) > 0 {
				err = fmt.Errorf("grants of %v", pairs)
			}
			return err
		})
		if got := tokens(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}}); got["error"] != "invalid_client" {
			t.Errorf("a refresh after the deletion: %v", got)
		}
	})
}

// crossed shows each token where another kind is expected: those of a sign-in to the API and
// as a CI's, and the API's to the identity provider.
func (b *tableBed) crossed(got map[string]any, tokens func(url.Values) map[string]any) {
	b.t.Helper()
	for _, name := range []string{"id_token", "access_token", "refresh_token"} {
		text, _ := got[name].(string)
		b.bearers[name] = text
		if status, answer := b.as(name, "Sessions/WhoAmI", `{}`); text == "" || status != http.StatusUnauthorized {
			b.t.Errorf("the %s of a sign-in as a token of the API: %d %v", name, status, answer)
		}
		if status, answer := b.as("none", "Federation/Exchange", fmt.Sprintf(`{"subject_token": %q}`, text)); status == http.StatusOK {
			b.t.Errorf("the %s of a sign-in is exchanged as a CI's: %v", name, answer)
		}
		if name == "access_token" {
			continue
		}
		if status, _ := b.send(name, http.MethodGet, "/oidc/userinfo", "", nil); status != http.StatusUnauthorized {
			b.t.Errorf("the %s as an access token: %d", name, status)
		}
	}
	if status, _ := b.send("admin", http.MethodGet, "/oidc/userinfo", "", nil); status != http.StatusUnauthorized {
		b.t.Errorf("a token of the API as an access token: %d", status)
	}
	for _, form := range []url.Values{
		{"grant_type": {"refresh_token"}, "refresh_token": {b.bearers["admin"]}},
		{"grant_type": {"refresh_token"}, "refresh_token": {b.bearers["id_token"]}},
		{"grant_type": {"authorization_code"}, "code": {b.bearers["admin"]}, "redirect_uri": {"http://127.0.0.1:1/cb"}},
	} {
		if answer := tokens(form); answer["error"] != "invalid_grant" {
			b.t.Errorf("%v: %v", form, answer)
		}
	}
}

// read makes a request with a form, and returns the body and the head of the answer.
func read(t *testing.T, c *http.Client, method, at string, form url.Values) (string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, at, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), answer.Header
}
