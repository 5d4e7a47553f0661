package login_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/login"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/oidcserver"
)

// calls calls the hub's API with the session's cookie, as a page does.
func (v *visitor) calls(procedure, request string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.absolute("/axle.hub.v1."+procedure), strings.NewReader(request))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, login.CSRFHeader: {login.FormToken(v.sessionCookie())}}
	v.do(r)
}

// Everything that outlives a session wants a proof that is fresh, whichever
// call makes it, and leaves nothing half done without.
func TestWhatLastsWantsAProof(t *testing.T) {
	b, v := newBed(t)
	v.calls("ServiceAccounts/Create", `{"name":"bot"}`)
	v.wants(http.StatusOK, "bot")
	calls := map[string]string{
		"Tokens/Create":               `{"name":"ci"}`,
		"Tokens/CreateBootstrap":      `{"project":"default"}`,
		"ServiceAccounts/CreateToken": `{"account":"bot","name":"ci"}`,
		"Users/Create":                `{"email":"new@example.com","tokenScopes":["read"]}`,
		"Clusters/Create":             `{"name":"edge"}`,
		"Federation/Create":           `{"name":"ci","issuer":"https://ci.example.com","audience":"hub","account":"bot","claims":{"sub":"job"}}`,
	}
	b.later(11 * time.Minute)
	for procedure, request := range calls {
		v.calls(procedure, request)
		if v.status != http.StatusForbidden || !strings.Contains(v.page, "/login/again") {
			t.Errorf("%s: %d %s", procedure, v.status, v.page)
		}
	}
	v.get("/login/again")
	v.post("/login/again", url.Values{"password": {password}, "next": {"/login/account"}})
	for procedure, request := range calls {
		if v.calls(procedure, request); v.status != http.StatusOK {
			t.Errorf("%s after the proof: %d %s", procedure, v.status, v.page)
		}
	}
}

// A user who has just logged in may allow a command line; otherwise the user
// must give a new proof, and then returns to where the command line waits.
func TestCommandLinesWantALoginOfNow(t *testing.T) {
	b, v := newBed(t)
	query := url.Values{"redirect_uri": {"http://127.0.0.1:1/callback"}, "state": {"st"}, "code_challenge_method": {"S256"}, "code_challenge": {challenge("verifier")}, "client": {"axle on x"}}
	v.get("/login/cli?" + query.Encode())
	v.wants(http.StatusOK, "Allow the command line?")
	b.later(11 * time.Minute)
	v.get("/login/cli?" + query.Encode())
	v.wants(http.StatusOK, "Is it you?")
	next := regexp.MustCompile(`name="next" value="([^"]*)"`).FindStringSubmatch(v.page)
	if next == nil {
		t.Fatal(v.page)
	}
	v.post("/login/again", url.Values{"password": {password}, "next": {html.UnescapeString(next[1])}})
	v.wants(http.StatusOK, "Allow the command line?")

	started, err := b.identity().StartDevice(t.Context(), "203.0.113.7", account.CLIRequest{Client: "axle on box"})
	if err != nil {
		t.Fatal(err)
	}
	v.get("/device?code=" + started.UserCode)
	v.wants(http.StatusOK, "Is this yours?")
	b.clock.advance(9 * time.Minute) // a code lives ten
	b.later(2 * time.Minute)
	started, err = b.identity().StartDevice(t.Context(), "203.0.113.7", account.CLIRequest{Client: "axle on box"})
	if err != nil {
		t.Fatal(err)
	}
	v.get("/device")
	v.post("/device", url.Values{"code": {started.UserCode}, "answer": {"allow"}})
	v.wants(http.StatusOK, "Is it you?")
}

// A user who came through a provider logs in there again: the hub requests it,
// and accepts it where the provider reports the time.
func TestProviderIsAskedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		// at is how long before now the provider reports the login; a negative
		// one is left out.
		at time.Duration
		// silent is a provider that never reports the time.
		silent bool
		who    oidcserver.User
		want   string
	}{
		"now":                             {0, false, bob, "Create a token"},
		"an open session of the provider": {time.Hour, false, bob, "did not ask you to log in again"},
		"nothing is said":                 {-1, false, bob, "does not report when you logged in"},
		"a provider that never says":      {-1, true, bob, "Create a token"},
		"somebody else":                   {0, false, carol, "you are logged in as bob@example.com here"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := newBed(t)
			p := b.provider("idp", nil, bob, carol)
			if tc.silent {
				p.Describe(func(d map[string]any) { d["claims_supported"] = []string{"sub", "iss"} })
			}
			v := b.visitor("198.51.100.70")
			v.through("idp", p, bob)
			b.later(11 * time.Minute)
			v.get("/login/account")
			v.wants(http.StatusOK, "Confirm your identity")
			cookie := v.sessionCookie()
			p.Tamper(func(k *oidcserver.Token) {
				now := b.clock.Now()
				k.Claims["iat"], k.Claims["exp"] = now.Unix(), now.Add(time.Hour).Unix()
				if k.Claims["auth_time"] = now.Add(-tc.at).Unix(); tc.at < 0 {
					delete(k.Claims, "auth_time")
				}
			})
			v.throughFrom("/login/again/idp?next=%2Flogin%2Faccount", p, tc.who)
			if !strings.Contains(v.page, tc.want) {
				t.Errorf("%d %s", v.status, v.page)
			}
			if proved := tc.want == "Create a token"; proved == (v.sessionCookie() == cookie) || v.who() != bob.Email {
				t.Errorf("proved is %v, and the cookie is another one: %v", proved, v.sessionCookie() != cookie)
			}
		})
	}
}

// The hub requests an authentication, whatever session the provider has open.
func TestProviderIsToldToAsk(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", nil, bob)
	v := b.visitor("198.51.100.71")
	v.through("idp", p, bob)
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	v.get("/login/again/idp")
	to, err := url.Parse(v.header.Get("Location"))
	if err != nil || to.Query().Get("prompt") != "login" || to.Query().Get("max_age") != "0" {
		t.Errorf("to %v, %v", to, err)
	}
}

// An old login at the provider is no proof: anybody at a browser that is logged
// in there could log out here and in again.
func TestOldLoginAtTheProviderIsNoProof(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", nil, bob)
	p.Tamper(func(k *oidcserver.Token) { k.Claims["auth_time"] = time.Now().Add(-time.Hour).Unix() })
	v := b.visitor("198.51.100.72")
	v.through("idp", p, bob)
	v.calls("Tokens/Create", `{"name":"ci"}`)
	v.wants(http.StatusForbidden, "/login/again")
	if _, err := b.identity().AllowCLI(t.Context(), b.session(v), account.CLIRequest{Challenge: challenge("verifier")}); err != nil {
		t.Errorf("a command line, which ends with the session: %v", err)
	}
}

// People create and revoke their own tokens where their password is required.
func TestTokensOfOnesOwn(t *testing.T) {
	b, v := newBed(t)
	v.get("/login/account")
	v.post("/login/account/token", url.Values{"name": {"ci"}, "scope": {"read"}, "days": {"90"}})
	v.wants(http.StatusOK, "It is shown only once")
	secret := regexp.MustCompile(`axle_[0-9A-Za-z]{43}`).FindString(v.page)
	p := b.principal(secret)
	if p.Name != owner || !slices.Equal(p.Scopes, []string{"read"}) || p.TokenExpiresAt < b.clock.Now().Add(89*24*time.Hour).UnixMicro() {
		t.Errorf("%+v", p)
	}
	v.get("/login/account")
	if strings.Contains(v.page, secret) || !strings.Contains(v.page, p.TokenID) {
		t.Errorf("the page shows the secret again, or no token: %s", v.page)
	}
	for name, form := range map[string]url.Values{
		"no name": {"scope": {"read"}, "days": {"90"}}, "a scope that is none": {"name": {"x"}, "scope": {"root"}, "days": {"90"}},
		"too long": {"name": {"x"}, "scope": {"read"}, "days": {"367"}}, "no days": {"name": {"x"}, "scope": {"read"}},
	} {
		v.get("/login/account")
		if v.post("/login/account/token", form); v.status != http.StatusUnprocessableEntity && v.status != http.StatusBadRequest {
			t.Errorf("%s: %d", name, v.status)
		}
	}
	v.get("/login/account")
	v.post("/login/account/token/revoke", url.Values{"id": {p.TokenID}})
	if v.wants(http.StatusOK, "API tokens"); strings.Contains(v.page, p.TokenID) {
		t.Error("it is still listed")
	}
}

// Changes of how an account is opened are in the audit log, with the user who
// made them.
func TestChangesOfAnAccountAreRecorded(t *testing.T) {
	b, v := newBed(t)
	v.get("/login/account")
	v.post("/login/account/totp", url.Values{})
	_, after, _ := strings.Cut(v.page, "<pre>")
	secret, _, _ := strings.Cut(after, "</pre>")
	code, err := totp.GenerateCode(secret, b.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	v.post("/login/account/totp/confirm", url.Values{"code": {code}})
	v.post("/login/account/totp/drop", url.Values{})
	if err := b.identity().AddPasskey(t.Context(), b.session(v), account.Passkey{ID: "key", Credential: "{}"}); err != nil {
		t.Fatal(err)
	}
	v.post("/login/account/key/drop", url.Values{"id": {"key"}})
	v.post("/login/account/token", url.Values{"name": {"ci"}, "scope": {"read"}, "days": {"90"}})
	v.get("/login/again")
	v.post("/login/again", url.Values{"password": {"not the password"}})
	v.post("/login/again", url.Values{"password": {password}})
	v.get("/login/account")
	v.post("/login/account/password", url.Values{"present": {password}, "password": {fresh}, "again": {fresh}, "tokens": {"1"}})
	v.wants(http.StatusOK, "Change password")
	want := []string{
		"login setup ok", "account.totp_added  ok", "account.totp_removed  ok", "account.passkey_removed  ok", "account.token_created  ok",
		"login password unauthorized", "login.again password ok", "account.password_changed  ok", "login password ok",
	}
	eventually.For(t, limit, "the records", func() error {
		rows, err := b.Parts().Store.AuditRows(t.Context(), audit.Query{Actor: owner, Limit: 1000})
		if err != nil {
			return err
		}
		var got []string
		for _, row := range rows {
			r, err := row.Open()
			if err != nil || r.Source == "" || strings.Contains(string(row.Record), secret) {
				t.Errorf("%s %v", row.Record, err)
			}
			got = append(got, strings.TrimSpace(r.Action+" "+r.Verb+" "+r.Result))
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("got  %q\nwant %q", got, want)
		}
		return nil
	})
	if all, err := b.identity().Tokens(t.Context(), b.session(v)); err != nil || len(all) != 0 {
		t.Errorf("the tokens were to end: %v %v", all, err)
	}
}
