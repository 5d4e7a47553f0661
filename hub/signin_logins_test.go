package hub_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/identity/account"
)

// Whoever may change an application sees who logged in, and ends their logins; a person sees and
// revokes their own. What was agreed to goes with the application.
func TestLoginsToApplicationsAreSeenAndEnded(t *testing.T) {
	onBothHubs(t, func(t *testing.T, b *tableBed) {
		const callback, secret = "http://127.0.0.1:1/cb", "a secret of the former provider"
		b.must("Applications/Apply", app("wiki", fmt.Sprintf(`, "title": "Team wiki", "clientId": "wiki", "clientSecret": %q, "redirectUris": [%q], "users": ["reader@example.com"]`, secret, callback)))
		parts := b.Parts()
		u, err := parts.Identity.UserByName(t.Context(), "reader@example.com")
		if err != nil {
			t.Fatal(err)
		}
		session, err := parts.Accounts.StartSession(t.Context(), u, account.SessionTerms{Method: account.MethodPassword, ProvedAt: time.Now().UnixMicro()}, "")
		if err != nil {
			t.Fatal(err)
		}
		at, err := url.Parse(b.URL)
		if err != nil {
			t.Fatal(err)
		}
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		jar.SetCookies(at, []*http.Cookie{{Name: "axle-session", Value: session.Secret, Path: "/"}})
		browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		query := url.Values{"client_id": {"wiki"}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"openid email"}}
		// logIn reports whether the person was asked.
		logIn := func() (asked bool) {
			t.Helper()
			page, header := read(t, browser, http.MethodGet, b.URL+"/oidc/authorize?"+query.Encode(), nil)
			if header.Get("Location") != "" {
				return false
			}
			form := url.Values{"answer": {"allow"}}
			for _, m := range consentField.FindAllStringSubmatch(page, -1) {
				form.Set(m[1], html.UnescapeString(m[2]))
			}
			if _, header = read(t, browser, http.MethodPost, b.URL+"/oidc/consent", form); header.Get("Location") == "" {
				t.Fatalf("not logged in: %s", page)
			}
			return true
		}
		logins := func(who, call, request string) []any {
			t.Helper()
			status, answer := b.as(who, call, request)
			if status != http.StatusOK {
				t.Fatalf("%s as %s: %d %v", call, who, status, answer)
			}
			all, _ := answer["logins"].([]any)
			return all
		}
		const name = `{"name": "wiki"}`
		if all := logins("admin", "ApplicationClients/ListLogins", name); len(all) != 0 {
			t.Errorf("before anybody logged in: %v", all)
		}
		if asked := logIn(); !asked || logIn() {
			t.Errorf("the person was not asked once")
		}
		for who, call := range map[string]string{"admin": "ApplicationClients/ListLogins", "reader": "Logins/ListApplications"} {
			request := "{}"
			if who == "admin" {
				request = name
			}
			all := logins(who, call, request)
			if len(all) != 1 {
				t.Fatalf("%s: %v", call, all)
			}
			one, _ := all[0].(map[string]any)
			if one["user"] != u.Name || one["title"] != "Team wiki" || one["clientId"] != "wiki" || fmt.Sprint(one["scopes"]) != "[openid email]" || one["live"] != 2.0 || one["lastLoginAt"] == nil || one["agreedAt"] == nil {
				t.Errorf("%s: %v", call, one)
			}
		}
		if all := logins("mallory", "Logins/ListApplications", "{}"); len(all) != 0 {
			t.Errorf("somebody else sees %v", all)
		}
		b.refused("reader", "ApplicationClients/ListLogins", name, http.StatusForbidden, "")
		b.refused("mallory", "ApplicationClients/EndLogins", `{"name": "wiki", "user": "reader@example.com"}`, http.StatusNotFound, "")
		b.refused("admin", "ApplicationClients/EndLogins", `{"name": "wiki", "user": "mallory@example.com"}`, http.StatusNotFound, "not among those who logged in")
		if got := b.must("ApplicationClients/EndLogins", `{"name": "wiki", "user": "reader@example.com"}`); got["ended"] != 2.0 {
			t.Errorf("ended %v", got)
		}
		if all := logins("admin", "ApplicationClients/ListLogins", name); len(all) != 1 || all[0].(map[string]any)["live"] != nil {
			t.Errorf("after the end: %v", all)
		}
		if logIn() {
			t.Error("an end by somebody else forgot what the person agreed to")
		}
		if status, got := b.as("reader", "Logins/LeaveApplication", `{"clientId": "wiki"}`); status != http.StatusOK || got["ended"] != 1.0 {
			t.Errorf("revoked: %d %v", status, got)
		}
		if all := logins("reader", "Logins/ListApplications", "{}"); len(all) != 0 {
			t.Errorf("after revoking: %v", all)
		}
		if !logIn() {
			t.Error("nobody asked again after a revocation")
		}
		// Another application may have the id of one that is gone.
		b.must("Applications/Delete", name)
		b.must("Applications/Apply", app("wiki", fmt.Sprintf(`, "clientId": "wiki", "clientSecret": %q, "redirectUris": [%q], "users": ["reader@example.com"]`, secret, callback)))
		if !logIn() {
			t.Error("another application of the id got what the former one had been given")
		}
		b.must("Users/Delete", `{"name": "reader@example.com"}`)
		if left, err := parts.Store.ConsentsOf(t.Context(), u.ID, 10); err != nil || len(left) != 0 {
			t.Errorf("of a deleted person: %v %v", left, err)
		}
	})
}
