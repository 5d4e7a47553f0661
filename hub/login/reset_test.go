package login_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/login"
	"github.com/axle-cd/axle/internal/errcode"
)

const fresh = "a wholly new password"

// prepare makes a reset token for the owner.
func (b *bed) prepare(dropFactors bool) (token string, ended int) {
	b.t.Helper()
	made, ended, err := b.identity().PrepareReset(b.t.Context(), identity.Principal{Name: "test"}, owner, dropFactors)
	if err != nil {
		b.t.Fatal(err)
	}
	return made.Secret, ended
}

// A user who lost the password chooses a new one, once, and is logged out
// everywhere, both when the link is created and when it is used.
func TestResetEndsSessionsAndWorksOnce(t *testing.T) {
	b, v := newBed(t)
	other := b.visitor("198.51.100.41")
	other.logIn(owner, password)
	mine, err := b.identity().AuthenticateSession(t.Context(), v.sessionCookie())
	if err != nil {
		t.Fatal(err)
	}
	code, err := b.identity().AllowCLI(t.Context(), mine, account.CLIRequest{Challenge: challenge("verifier")})
	if err != nil {
		t.Fatal(err)
	}
	cli, err := b.identity().ExchangeCode(t.Context(), code, "verifier")
	if err != nil {
		t.Fatal(err)
	}
	token, ended := b.prepare(false)
	if v.who() != "" || other.who() != "" || ended != 3 {
		t.Errorf("%d sessions ended; %q and %q are logged in", ended, v.who(), other.who())
	}
	if _, err := b.identity().Authenticate(t.Context(), cli.Secret); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("a command line goes on: %v", err)
	}
	if p, err := b.identity().Authenticate(t.Context(), token); err == nil && (p.Kind != identity.KindSetup || p.Admin || len(p.Scopes) > 0) {
		t.Errorf("the token of a link is taken for %+v", p)
	}
	if _, err := b.identity().AuthenticateSession(t.Context(), token); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("the token of a link as a session: %v", err)
	}
	// The old password still works until then.
	meanwhile := b.visitor("198.51.100.42")
	meanwhile.logIn(owner, password)
	v.get(login.ResetPath + "?token=" + token + "x")
	v.wants(http.StatusUnauthorized, "not known, was used")
	v.get(login.ResetPath + "?token=" + token)
	v.wants(http.StatusOK, owner)
	for name, form := range map[string]url.Values{
		"short":        {"password": {"short"}, "again": {"short"}},
		"not the same": {"password": {fresh}, "again": {fresh + "x"}},
	} {
		form.Set("token", token)
		v.post(login.ResetPath, form)
		if v.status != http.StatusUnprocessableEntity || strings.Contains(v.page, fresh) {
			t.Errorf("%s: %d %s", name, v.status, v.page)
		}
	}
	v.post(login.ResetPath, url.Values{"token": {token}, "password": {fresh}, "again": {fresh}})
	v.wants(http.StatusOK, "The password is set")
	if v.who() != "" || meanwhile.who() != "" {
		t.Errorf("logged in after the reset: %q and, from before, %q", v.who(), meanwhile.who())
	}
	v.get(login.ResetPath + "?token=" + token)
	v.wants(http.StatusUnauthorized, "not known, was used")
	v.get("/login")
	v.post(login.ResetPath, url.Values{"token": {token}, "password": {fresh + "2"}, "again": {fresh + "2"}})
	v.wants(http.StatusUnauthorized, "not known, was used")
	v.logIn(owner, password)
	v.wants(http.StatusUnauthorized, "wrong")
	v.logIn(owner, fresh)
	if v.who() != owner {
		t.Errorf("the new password: %d %s", v.status, v.page)
	}
}

func TestResetExpiresAndTheNewestCounts(t *testing.T) {
	b, v := newBed(t)
	mine, err := b.identity().AuthenticateSession(t.Context(), v.sessionCookie())
	if err != nil {
		t.Fatal(err)
	}
	api, err := b.identity().CreateToken(t.Context(), mine, identity.TokenRequest{Name: "ci", Scopes: []string{identity.ScopeRead}})
	if err != nil {
		t.Fatal(err)
	}
	first, _ := b.prepare(false)
	second, _ := b.prepare(false)
	v.get(login.ResetPath + "?token=" + first)
	v.wants(http.StatusUnauthorized, "not known, was used")
	v.get(login.ResetPath + "?token=" + second)
	v.wants(http.StatusOK, owner)
	b.clock.advance(61 * time.Minute)
	v.get(login.ResetPath + "?token=" + second)
	v.wants(http.StatusUnauthorized, "not known, was used")
	if _, err := b.identity().ResetPassword(t.Context(), second, fresh); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("an old link: %v", err)
	}
	for what, token := range map[string]string{"of the setup": b.AdminToken, "none": "", "nobody's": "axle_nobody", "of the API": api.Secret} {
		if _, err := b.identity().ResetPassword(t.Context(), token, fresh); !errcode.Is(err, errcode.Unauthorized) {
			t.Errorf("a token %s: %v", what, err)
		}
	}
	if _, err := b.identity().CreateServiceAccount(t.Context(), identity.Principal{Name: "test"}, "bot", false); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]errcode.Code{"bot": errcode.Invalid, "nobody@example.com": errcode.NotFound} {
		if _, _, err := b.identity().PrepareReset(t.Context(), identity.Principal{Name: "test"}, name, false); !errcode.Is(err, code) {
			t.Errorf("%s: %v, want %s", name, err, code)
		}
	}
}

// A second factor is required after a reset as before, unless it was removed
// with it.
func TestResetKeepsSecondFactors(t *testing.T) {
	b, v := newBed(t)
	user, err := b.user(owner)
	if err != nil {
		t.Fatal(err)
	}
	p := identity.Principal{Kind: identity.KindUser, ID: user.ID, Name: user.Name}
	key, err := account.NewTOTP(p, "hub")
	if err != nil {
		t.Fatal(err)
	}
	code, err := totp.GenerateCode(key.Secret(), b.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := b.identity().SetTOTP(t.Context(), p, key.Secret(), code); err != nil {
		t.Fatal(err)
	}
	if err := b.identity().AddPasskey(t.Context(), p, account.Passkey{ID: "k", Credential: "{}"}); err != nil {
		t.Fatal(err)
	}
	for _, drop := range []bool{false, true} {
		token, _ := b.prepare(drop)
		if _, err := b.identity().ResetPassword(t.Context(), token, fresh); err != nil {
			t.Fatal(err)
		}
		want := account.SecondFactor{TOTP: !drop}
		if !drop {
			want.Passkeys = 1
		}
		if got, err := b.identity().SecondFactor(t.Context(), user.ID); err != nil || got != want {
			t.Errorf("dropped %v: %+v, %v", drop, got, err)
		}
	}
	v.logIn(owner, fresh)
	if v.who() != owner {
		t.Errorf("without a second factor: %d %s", v.status, v.page)
	}
}
