package login_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/oidcserver"
)

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// logoutClaims are those of a good logout token.
func logoutClaims(p *oidcserver.Server, subject, session string) map[string]any {
	claims := map[string]any{
		"iss": p.URL, "aud": "axle", "iat": time.Now().Unix(), "exp": time.Now().Add(2 * time.Minute).Unix(), "jti": rand.Text(),
		"events": map[string]any{logoutEvent: map[string]any{}},
	}
	if subject != "" {
		claims["sub"] = subject
	}
	if session != "" {
		claims["sid"] = session
	}
	return claims
}

// tell sends a logout token like a provider.
func (b *bed) tell(from, provider string, p *oidcserver.Server, claims map[string]any, change func(*oidcserver.Token)) *visitor {
	b.t.Helper()
	token, err := p.Sign(claims, change)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.tellToken(from, provider, url.Values{"logout_token": {token}})
}

func (b *bed) tellToken(from, provider string, form url.Values) *visitor {
	b.t.Helper()
	v := b.visitor(from)
	v.send("/login/backchannel/"+provider, form, nil)
	return v
}

// sessioned lets the provider name its sessions in ID tokens.
func sessioned(p *oidcserver.Server, session string) {
	p.Tamper(func(k *oidcserver.Token) { k.Claims["sid"] = session })
}

// TestProviderEndsSessions checks that exactly what a provider logs out ends.
func TestProviderEndsSessions(t *testing.T) {
	b, admin := newBed(t)
	p := b.provider("idp", nil, bob, carol)
	browser := func(user oidcserver.User, session string) *visitor {
		v := b.visitor("198.51.100.50")
		sessioned(p, session)
		v.through("idp", p, user)
		if v.who() != user.Email {
			t.Fatalf("%s is not logged in: %s", user.Name, v.page)
		}
		return v
	}
	// A command line of a session that came through no provider stays in any
	// case.
	commandLine := func(user oidcserver.User) (made, open identity.CreatedToken) {
		found, err := b.user(user.Email)
		if err != nil {
			t.Fatal(err)
		}
		open, err = b.identity().StartSession(t.Context(), found, account.SessionTerms{Method: account.MethodPassword}, "")
		if err != nil {
			t.Fatal(err)
		}
		by, err := b.identity().AuthenticateSession(t.Context(), open.Secret)
		if err != nil {
			t.Fatal(err)
		}
		const verifier = "a verifier of a command line, long enough for all"
		code, err := b.identity().AllowCLI(t.Context(), by, account.CLIRequest{Client: "axle", Challenge: challenge(verifier)})
		if err != nil {
			t.Fatal(err)
		}
		if made, err = b.identity().ExchangeCode(t.Context(), code, verifier); err != nil {
			t.Fatal(err)
		}
		return made, open
	}
	for name, tc := range map[string]struct {
		subject, session string
		// Who is logged in afterwards: bob with the sessions one and two, bob's
		// command line, carol with session three.
		one, two, cli, carol bool
	}{
		"a session":                     {"", "one", false, true, true, true},
		"a session of an account":       {bob.Subject, "one", false, true, true, true},
		"an account":                    {bob.Subject, "", false, false, false, true},
		"somebody else's session":       {carol.Subject, "one", true, true, true, true},
		"a session that nobody has":     {"", "nine", true, true, true, true},
		"an account that never came":    {"s-nobody", "", true, true, true, true},
		"another session of an account": {bob.Subject, "nine", true, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			one, two, three := browser(bob, "one"), browser(bob, "two"), browser(carol, "three")
			cli, local := commandLine(bob)
			if v := b.tell("198.51.100.51", "idp", p, logoutClaims(p, tc.subject, tc.session), nil); v.status != http.StatusOK || v.page != "" || v.header.Get("Cache-Control") != "no-store" {
				t.Fatalf("%d %q %v", v.status, v.page, v.header)
			}
			for who, v := range map[string]struct {
				visitor *visitor
				stays   bool
			}{"bob one": {one, tc.one}, "bob two": {two, tc.two}, "carol": {three, tc.carol}} {
				if got := v.visitor.who() != ""; got != v.stays {
					t.Errorf("%s is logged in: %t, want %t", who, got, v.stays)
				}
			}
			if _, err := b.identity().Authenticate(t.Context(), cli.Secret); (err == nil) != tc.cli {
				t.Errorf("the command line: %v", err)
			}
			if _, err := b.identity().AuthenticateSession(t.Context(), local.Secret); err != nil {
				t.Errorf("a session of no provider: %v", err)
			}
		})
	}
	if admin.who() != owner {
		t.Error("a local account was logged out by a provider")
	}
	eventually.For(t, limit, "the logouts are recorded", func() error {
		rows, err := b.Parts().Store.AuditRows(t.Context(), audit.Query{Action: "logout"})
		if err != nil || len(rows) == 0 || !strings.Contains(string(rows[0].Record), "login provider idp") {
			return fmt.Errorf("recorded are %v, %w", rows, err)
		}
		return nil
	})
	// A session that does not record its session at the provider may be the
	// one.
	p.Tamper(nil)
	v := b.visitor("198.51.100.50")
	v.through("idp", p, bob)
	b.tell("198.51.100.51", "idp", p, logoutClaims(p, bob.Subject, "one"), nil)
	if who := v.who(); who != "" {
		t.Errorf("%s stays logged in by a session that may be the one", who)
	}
}

// TestLogoutTokensThatAreNotBelieved checks that nobody but the provider can
// end sessions.
func TestLogoutTokensThatAreNotBelieved(t *testing.T) {
	b, _ := newBed(t)
	p, other := b.provider("idp", nil, bob), b.provider("other", nil, bob)
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	v := b.visitor("198.51.100.52")
	sessioned(p, "one")
	v.through("idp", p, bob)
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	claim := func(name string, value any) func(*oidcserver.Token) {
		return func(k *oidcserver.Token) {
			if k.Claims[name] = value; value == nil {
				delete(k.Claims, name)
			}
		}
	}
	public, err := x509.MarshalPKIXPublicKey(&stranger.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	const badSignature = "signature, issuer or audience"
	for name, tc := range map[string]struct {
		change func(*oidcserver.Token)
		says   string
	}{
		"alg none":                {func(k *oidcserver.Token) { k.Unsigned = true }, badSignature},
		"forged":                  {func(k *oidcserver.Token) { k.Key = stranger }, badSignature},
		"forged, other key id":    {func(k *oidcserver.Token) { k.Key, k.KeyID = stranger, "mine" }, badSignature},
		"signed with the secret":  {func(k *oidcserver.Token) { k.HMAC = []byte("hushhushhushhushhushhushhushhush") }, badSignature},
		"signed with a known key": {func(k *oidcserver.Token) { k.HMAC = public }, badSignature},
		"other issuer":            {claim("iss", "https://evil.example.com"), badSignature},
		"issuer of another":       {claim("iss", other.URL), badSignature},
		"other audience":          {claim("aud", "other"), badSignature},
		"no audience":             {claim("aud", nil), badSignature},
		"an ID token's nonce":     {claim("nonce", "n"), "has a nonce"},
		"an empty nonce":          {claim("nonce", ""), "has a nonce"},
		"no events":               {claim("events", nil), "not about a logout"},
		"other event":             {claim("events", map[string]any{"http://schemas.openid.net/event/other": map[string]any{}}), "not about a logout"},
		"event that is a text":    {claim("events", map[string]any{logoutEvent: "{}"}), "not about a logout"},
		"event that is null":      {claim("events", map[string]any{logoutEvent: (map[string]any)(nil)}), "not about a logout"},
		"events that are a list":  {claim("events", []string{logoutEvent}), "cannot be read"},
		"no jti":                  {claim("jti", nil), "no jti"},
		"jti that is a number":    {claim("jti", 7), "cannot be read"},
		"of nobody":               {func(k *oidcserver.Token) { delete(k.Claims, "sub"); delete(k.Claims, "sid") }, "neither a session"},
		"made in the future":      {claim("iat", at(6*time.Minute)), "in the future"},
		"made never":              {claim("iat", nil), "in the future"},
		"made long ago":           {claim("iat", at(-16*time.Minute)), "too long ago"},
		"expired":                 {claim("exp", at(-6*time.Minute)), "expired"},
		"not valid yet":           {claim("nbf", at(6*time.Minute)), "not valid yet"},
		"an access token":         {func(k *oidcserver.Token) { k.Type = "at+jwt" }, "it is not a logout token"},
		"too long":                {claim("padding", strings.Repeat("x", 20<<10)), "it is not a logout token"},
	} {
		t.Run(name, func(t *testing.T) {
			told := b.tell("203.0.113.1", "idp", p, logoutClaims(p, bob.Subject, "one"), tc.change)
			if told.status != http.StatusBadRequest || !strings.Contains(told.page, "invalid_request") || !strings.Contains(told.page, tc.says) {
				t.Errorf("%d, want %q in %s", told.status, tc.says, told.page)
			}
			if v.who() != bob.Email {
				t.Fatal("the user is logged out")
			}
		})
	}
	good, err := p.Sign(logoutClaims(p, "s-nobody", ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		provider string
		form     url.Values
		status   int
	}{
		"no token":            {"idp", url.Values{}, 400},
		"an empty token":      {"idp", url.Values{"logout_token": {""}}, 400},
		"two tokens":          {"idp", url.Values{"logout_token": {good, good}}, 400},
		"no JWT":              {"idp", url.Values{"logout_token": {"a.b"}}, 400},
		"at another provider": {"other", url.Values{"logout_token": {good}}, 400},
		"at no provider":      {"none", url.Values{"logout_token": {good}}, 404},
		"in the URL":          {"idp?logout_token=" + good, url.Values{}, 400},
	} {
		if told := b.tellToken("203.0.113.2", tc.provider, tc.form); told.status != tc.status {
			t.Errorf("%s: %d %s", name, told.status, told.page)
		}
	}
	for i, want := range []int{http.StatusOK, http.StatusBadRequest, http.StatusBadRequest} {
		if told := b.tellToken("203.0.113.2", "idp", url.Values{"logout_token": {good}}); told.status != want {
			t.Errorf("the same token for the %d. time: %d %s", i+1, told.status, told.page)
		}
	}
	// Clocks that are 4 min apart are no reason, nor is a type that is right, nor
	// an exp that older providers leave out.
	for name, change := range map[string]func(*oidcserver.Token){
		"behind": func(k *oidcserver.Token) { k.Claims["exp"], k.Claims["iat"] = at(-4*time.Minute), at(-9*time.Minute) },
		"ahead":  claim("iat", at(4*time.Minute)),
		"typed":  func(k *oidcserver.Token) { k.Type = "logout+jwt" },
		"no exp": claim("exp", nil),
	} {
		if told := b.tell("203.0.113.3", "idp", p, logoutClaims(p, "s-nobody", ""), change); told.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, told.status, told.page)
		}
	}
}

// After some invalid tokens, an address gets no more answers; tokens of the
// provider still work.
func TestWrongLogoutTokensAreCounted(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", nil, bob)
	var told *visitor
	for n := 0; n < manyTries && (n == 0 || told.status != http.StatusTooManyRequests); n++ {
		told = b.tellToken("203.0.113.9", "idp", url.Values{"logout_token": {"x.y.z"}})
	}
	if told.status != http.StatusTooManyRequests || !strings.Contains(told.page, "(pool login_logouts)") || told.header.Get("Retry-After") == "" {
		t.Errorf("wrong tokens are answered with %d %s", told.status, told.page)
	}
	for range 70 {
		if told := b.tell("198.51.100.53", "idp", p, logoutClaims(p, "s-nobody", ""), nil); told.status != http.StatusOK {
			t.Fatalf("the provider's own: %d %s", told.status, told.page)
		}
	}
}

// A provider that is down gives an error, and one whose keys changed is
// accepted.
func TestLogoutTokensAfterAKeyChange(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", nil, bob)
	v := b.visitor("198.51.100.54")
	v.through("idp", p, bob)
	p.RotateKey()
	if told := b.tell("198.51.100.55", "idp", p, logoutClaims(p, bob.Subject, ""), nil); told.status != http.StatusOK || v.who() != "" {
		t.Errorf("%d %s, and the user is %q", told.status, told.page, v.who())
	}
}

// TestProviderEndsSessionsOnEveryReplica sends the token to one replica and
// checks another.
func TestProviderEndsSessionsOnEveryReplica(t *testing.T) {
	config := hubtest.HubConfig{DatabaseURL: hubtest.Postgres(t), KeyFile: filepath.Join(t.TempDir(), "hub.key")}
	one := hubtest.New(t, hubtest.Config{Hub: config})
	two := hubtest.New(t, hubtest.Config{Hub: config, AdminToken: one.AdminToken})
	b := &bed{one, t, nil}
	p := b.provider("idp", nil, bob)
	v := b.visitor("198.51.100.56")
	sessioned(p, "one")
	v.through("idp", p, bob)
	secret := v.sessionCookie()
	works := func(h *hubtest.Hub) error {
		_, err := h.Parts().Identity.AuthenticateSession(t.Context(), secret)
		return err
	}
	for _, h := range []*hubtest.Hub{one, two} {
		eventually.For(t, limit, "the session is known", func() error { return works(h) })
	}
	token, err := p.Sign(logoutClaims(p, "", "one"), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Hub = two
	if told := b.tellToken("198.51.100.57", "idp", url.Values{"logout_token": {token}}); told.status != http.StatusOK {
		t.Fatalf("%d %s", told.status, told.page)
	}
	if err := works(two); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("at the replica that was told: %v", err)
	}
	// The other replica learns of it from the change feed, at the latest with
	// its next poll, 3 s later; a loaded machine gets more time.
	eventually.For(t, limit, "the session ends at the other replica", func() error {
		if err := works(one); !errcode.Is(err, errcode.Unauthorized) {
			return fmt.Errorf("it still works: %w", err)
		}
		return nil
	})
	// A token that one replica accepted is not accepted again by the other.
	b.Hub = one
	if told := b.tellToken("198.51.100.57", "idp", url.Values{"logout_token": {token}}); told.status != http.StatusBadRequest {
		t.Errorf("played again at the other replica: %d %s", told.status, told.page)
	}
}
