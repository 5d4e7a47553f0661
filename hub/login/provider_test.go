package login_test

import (
	"crypto/rand"
	"crypto/rsa"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/test/oidcserver"
)

var (
	carol  = oidcserver.User{Subject: "s-carol", Name: "carol", Password: "carols password", Email: "carol@example.com"}
	byRoot = identity.Principal{Kind: identity.KindUser, Name: owner, Admin: true, Scopes: []string{"admin"}}
)

// withGroups maps one group of the provider and requests them.
func withGroups(p *account.Provider) {
	p.Scopes, p.GroupsClaim, p.Groups = []string{"email", "groups"}, "groups", map[string]string{"eng-platform": "platform"}
}

func TestLoginThroughAProviderGivesMappedGroupsAlone(t *testing.T) {
	b, _ := newBed(t)
	if _, err := b.identity().CreateGroup(t.Context(), owner, "platform", ""); err != nil {
		t.Fatal(err)
	}
	p := b.provider("idp", withGroups, bob, carol)
	v := b.visitor("198.51.100.2")
	v.through("idp", p, bob)
	v.get("/login/account")
	v.wants(http.StatusOK, bob.Email)
	v.wants(http.StatusOK, "platform")
	if strings.Contains(v.page, "everybody") || strings.Contains(v.page, "eng-platform") {
		t.Errorf("a raw claim became a group: %s", v.page)
	}

	// The key changes without notice, and so do the groups.
	p.RotateKey()
	moved := bob
	moved.Groups = []string{"everybody", "axle:admins", "system:masters"}
	p.SetUsers(moved)
	again := b.visitor("198.51.100.3")
	again.through("idp", p, moved)
	again.get("/login/account")
	if again.wants(http.StatusOK, bob.Email); strings.Contains(again.page, "platform") || strings.Contains(again.page, "Administrator") {
		t.Errorf("groups of before, or claimed ones: %s", again.page)
	}
	v.get("/login/account")
	if v.wants(http.StatusOK, bob.Email); strings.Contains(v.page, "platform") {
		t.Errorf("an open session keeps a group that was taken away: %s", v.page)
	}

	// A logout continues at the provider, which redirects back.
	again.get("/logout")
	if policy := again.header.Get("Content-Security-Policy"); !strings.Contains(policy, p.URL) {
		t.Errorf("the form's policy does not let it go to the provider: %s", policy)
	}
	again.post("/logout", url.Values{})
	again.wants(http.StatusOK, "You are logged out")
	if who := again.who(); who != "" {
		t.Errorf("still logged in as %s", who)
	}
}

func TestIDTokensThatAreNotBelieved(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", nil, bob)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	tests := map[string]struct {
		change func(*oidcserver.Token)
		says   string
	}{
		"expired":              {func(k *oidcserver.Token) { k.Claims["exp"] = at(-6 * time.Minute) }, "has expired"},
		"no end":               {func(k *oidcserver.Token) { delete(k.Claims, "exp") }, "has expired"},
		"made in the future":   {func(k *oidcserver.Token) { k.Claims["iat"] = at(6 * time.Minute) }, "in the future"},
		"made long ago":        {func(k *oidcserver.Token) { k.Claims["iat"] = at(-20 * time.Minute) }, "too long ago"},
		"not good yet":         {func(k *oidcserver.Token) { k.Claims["nbf"] = at(6 * time.Minute) }, "not valid yet"},
		"alg none":             {func(k *oidcserver.Token) { k.Unsigned = true }, "not signed"},
		"a shared secret":      {func(k *oidcserver.Token) { k.HMAC = []byte(strings.Repeat("k", 32)) }, "signed with HS256, a secret that others know too"},
		"names without source": {func(k *oidcserver.Token) { k.Claims["_claim_names"] = map[string]any{"groups": "src1"} }, "that its _claim_sources lacks"},
		"forged":               {func(k *oidcserver.Token) { k.Key = stranger }, "none of the provider&#39;s keys"},
		"forged, other key id": {func(k *oidcserver.Token) { k.Key, k.KeyID = stranger, "mine" }, "none of the provider&#39;s keys"},
		"other issuer":         {func(k *oidcserver.Token) { k.Claims["iss"] = "https://evil.example.com" }, "its issuer is"},
		"other audience":       {func(k *oidcserver.Token) { k.Claims["aud"] = "other" }, "which its audience lacks"},
		"other party":          {func(k *oidcserver.Token) { k.Claims["aud"], k.Claims["azp"] = []string{"axle", "other"}, "other" }, "another client"},
		"other nonce":          {func(k *oidcserver.Token) { k.Claims["nonce"] = "theirs" }, "another login"},
		"no nonce":             {func(k *oidcserver.Token) { delete(k.Claims, "nonce") }, "another login"},
		"other access token":   {func(k *oidcserver.Token) { k.Claims["at_hash"] = "AAAAAAAAAAAAAAAAAAAAAA" }, "access token"},
		"unverified address":   {func(k *oidcserver.Token) { k.Claims["email_verified"] = false }, "has not verified"},
		"no subject":           {func(k *oidcserver.Token) { k.Claims["sub"] = "" }, "whose account"},
		"address with a name":  {func(k *oidcserver.Token) { k.Claims["email"] = "Bob <bob@example.com>" }, "that is not valid"},
		"reserved name":        {func(k *oidcserver.Token) { k.Claims["email"] = "system:admin@example.com" }, "that is not valid"},
	}
	for _, name := range slices.Sorted(mapKeys(tests)) {
		tc := tests[name]
		t.Run(name, func(t *testing.T) {
			p.Tamper(tc.change)
			v := b.visitor("198.51.100.4")
			v.through("idp", p, bob)
			if v.status < 400 || !strings.Contains(v.page, tc.says) {
				t.Errorf("%d, want %q in %s", v.status, tc.says, v.page)
			}
			if v.sessionCookie() != "" {
				t.Error("there is a session")
			}
		})
	}
	// Clocks that are 4 min apart are no reason.
	for name, change := range map[string]func(*oidcserver.Token){
		"behind": func(k *oidcserver.Token) { k.Claims["exp"], k.Claims["iat"] = at(-4*time.Minute), at(-9*time.Minute) },
		"ahead":  func(k *oidcserver.Token) { k.Claims["iat"], k.Claims["nbf"] = at(4*time.Minute), at(4*time.Minute) },
	} {
		p.Tamper(change)
		v := b.visitor("198.51.100.5")
		v.through("idp", p, bob)
		if who := v.who(); who != bob.Email {
			t.Errorf("a clock %s by 4 min: %q", name, who)
		}
	}
}

// TestASecretStaysWithItsProvider checks that a provider which redirects the
// hub to another host cannot send the client's secret or the code there.
func TestASecretStaysWithItsProvider(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", nil, bob)
	var heard atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		t.Errorf("another host heard %s %s", r.Header.Get("Authorization"), body)
		heard.Add(1)
	}))
	defer other.Close()
	p.SendAway(other.URL + "/token")
	v := b.visitor("198.51.100.9")
	v.through("idp", p, bob)
	if v.status < 400 || heard.Load() > 0 {
		t.Errorf("%d, %d requests elsewhere: %s", v.status, heard.Load(), v.page)
	}
	p.SendAway("")
	v = b.visitor("198.51.100.10")
	v.through("idp", p, bob)
	if who := v.who(); who != bob.Email {
		t.Errorf("logged in as %q", who)
	}
}

func TestAnswersAreTakenOnceByWhoBegan(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", nil, bob)
	v := b.visitor("198.51.100.6")
	v.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/login/callback/idp" {
			return http.ErrUseLastResponse
		}
		return nil
	}
	v.through("idp", p, bob)
	callback := v.header.Get("Location")
	if !strings.Contains(callback, "code=") {
		t.Fatalf("no answer of the provider: %d %s", v.status, v.page)
	}
	thief := b.visitor("203.0.113.1")
	thief.get(callback)
	thief.wants(http.StatusUnauthorized, "not begun in this browser")

	// The browser's state is kept to play it again afterwards.
	base, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	kept := v.client.Jar.Cookies(base)
	v.get(strings.Replace(callback, "state=", "state=x", 1))
	v.wants(http.StatusUnauthorized, "not begun in this browser")
	v.get(callback)
	v.wants(http.StatusUnauthorized, "not begun in this browser") // one try a login
	v.client.Jar.SetCookies(base, kept)
	v.get(callback)
	if who := v.who(); who != bob.Email {
		t.Fatalf("logged in as %q", who)
	}
	again := b.visitor("198.51.100.6")
	again.client.Jar.SetCookies(base, kept)
	again.get(callback)
	if again.status != http.StatusUnauthorized || again.sessionCookie() != "" {
		t.Errorf("an answer was taken twice: %d %s", again.status, again.page)
	}
}

func TestProviderDown(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", func(p *account.Provider) { p.Title = "Example" }, bob, carol)
	in := b.visitor("198.51.100.7")
	in.through("idp", p, bob)
	if who := in.who(); who != bob.Email {
		t.Fatalf("logged in as %q", who)
	}
	b.later(2 * time.Hour) // the discovery is old
	p.SetDown(true)
	if who := in.who(); who != bob.Email {
		t.Errorf("a session ended because the provider is down: %q", who)
	}
	fresh := b.provider("other", func(p *account.Provider) { p.Title = "Other" }, bob)
	fresh.SetDown(true)
	out := b.visitor("198.51.100.8")
	out.get("/login/oidc/other")
	out.wants(http.StatusServiceUnavailable, "Other cannot be used to log in now")
	out.get("/login")
	out.wants(http.StatusOK, "Other cannot be used to log in now")
	out.logIn(owner, password)
	if who := out.who(); who != owner {
		t.Errorf("the local account does not help: %q", who)
	}
	in.get("/logout")
	in.post("/logout", url.Values{})
	if who := in.who(); who != "" {
		t.Errorf("logging out needs the provider: still %q", who)
	}
	fresh.SetDown(false)
	b.clock.advance(time.Minute)
	fresh.Tamper(func(k *oidcserver.Token) {
		k.Claims["iat"], k.Claims["exp"] = b.clock.Now().Unix(), b.clock.Now().Add(time.Hour).Unix()
	})
	late := b.visitor("198.51.100.9")
	late.through("other", fresh, bob)
	late.wants(http.StatusForbidden, "belongs to another account")
}

func TestAddressesDoNotTakeAccounts(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", func(p *account.Provider) { p.EmailDomains = []string{"example.com"} }, bob)
	tests := map[string]struct {
		user oidcserver.User
		says string
	}{
		"local account's address": {oidcserver.User{Subject: "x1", Name: "x1", Password: "p", Email: owner}, "local account"},
		"other domain":            {oidcserver.User{Subject: "x2", Name: "x2", Password: "p", Email: "eve@evil.example"}, "may not log in"},
		"address was bob's":       {oidcserver.User{Subject: "x3", Name: "x3", Password: "p", Email: "BOB@example.com"}, "belongs to another account"},
		"no address":              {oidcserver.User{Subject: "x4", Name: "x4", Password: "p"}, "no e-mail address"},
	}
	v := b.visitor("198.51.100.10")
	v.through("idp", p, bob)
	first, err := b.user(bob.Email)
	if err != nil || first.Admin {
		t.Fatalf("%+v, %v", first, err)
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p.SetUsers(tc.user)
			v := b.visitor("198.51.100.11")
			v.through("idp", p, tc.user)
			if v.status != http.StatusForbidden || !strings.Contains(v.page, tc.says) {
				t.Errorf("%d %s", v.status, v.page)
			}
		})
	}
	// The account is known by its subject, whatever its address is now.
	renamed := bob
	renamed.Email = "robert@example.com"
	p.SetUsers(renamed)
	w := b.visitor("198.51.100.12")
	w.through("idp", p, renamed)
	if who := w.who(); who != bob.Email {
		t.Errorf("logged in as %q", who)
	}
	// Deleting the provider ends the sessions that came through it.
	if err := b.identity().DeleteProvider(t.Context(), byRoot, "idp"); err != nil {
		t.Fatal(err)
	}
	if who := w.who(); who != "" {
		t.Errorf("the provider is gone, %s is not", who)
	}
}
