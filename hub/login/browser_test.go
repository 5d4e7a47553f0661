package login_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/browser"
	"github.com/axle-cd/axle/test/oidcserver"
)

// coloured are the pages that axe also looks at in light and in forced colours: together they
// have one of everything.
var coloured = map[string]bool{"login-wrong": true, "device-confirm": true, "account": true}

// album holds a page to what all of them keep: axe finds nothing, on a narrow phone nothing
// scrolls sideways, and it is drawn as the console is. It keeps pictures in AXLE_PICTURES, for
// people to judge.
func album(t *testing.T, b *browser.Browser, name string) {
	t.Helper()
	axe, err := os.ReadFile("../../web/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatalf("axe is not installed: run make web: %v", err)
	}
	dir := os.Getenv("AXLE_PICTURES")
	for _, look := range []struct {
		name, scheme string
		width        int
	}{{"light", "light", 1440}, {"dark", "dark", 1440}, {"forced", browser.Forced, 1440}, {"phone", "light", 390}, {"phone-dark", "dark", 390}, {"narrow", "dark", 320}} {
		b.Look(look.width, 760, look.scheme)
		if look.name == "dark" || look.width == 1440 && coloured[name] {
			if found := b.Axe(string(axe)); found != "" {
				t.Errorf("axe, %s in %s:\n%s", name, look.name, found)
			}
		}
		if over := b.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"); over != "0" {
			t.Errorf("%s scrolls sideways by %s px at %d px", name, over, look.width)
		}
		if dir == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name+"-"+look.name+".png"), b.Picture(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.Look(1440, 760, "dark")
	for what, want := range map[string]string{
		"document.documentElement, '--bg'": "#0e1116", "document.body, 'background-color'": "rgba(0, 0, 0, 0)", "document.documentElement, 'background-color'": "rgb(14, 17, 22)",
		"document.body, 'font-size'": "13px", "document.querySelector('.card'), 'background-color'": "rgb(21, 26, 33)", "document.querySelector('.card'), 'box-shadow'": "none",
	} {
		args := strings.Split(what, ", '")
		if got := b.Eval("getComputedStyle(" + args[0] + ").getPropertyValue('" + args[1] + ")"); got != want {
			t.Errorf("%s: %s is %s, not %s", name, what, got, want)
		}
	}
	if font := b.Eval("getComputedStyle(document.body).fontFamily"); !strings.HasPrefix(font, `"Inter Variable"`) {
		t.Errorf("%s: the font is %s", name, font)
	}
}

// The pages take every colour, size and font from the console's own file.
func TestThePagesHaveTheDesignOfTheConsole(t *testing.T) {
	style, err := os.ReadFile("assets/login.css")
	if err != nil {
		t.Fatal(err)
	}
	// A QR code is read on white.
	for _, found := range regexp.MustCompile(`#[0-9a-f]{3,8}\b|rgba?\(|[0-9.]rem|font-family`).FindAllString(strings.ReplaceAll(string(style), "background: #fff", ""), -1) {
		t.Errorf("assets/login.css has a design of its own: %s", found)
	}
	for _, name := range regexp.MustCompile(`var\((--[a-z0-9-]+)\)`).FindAllStringSubmatch(string(style), -1) {
		if !bytes.Contains(consoleTokens(t), []byte(name[1]+":")) {
			t.Errorf("assets/login.css names %s, which the console does not have", name[1])
		}
	}
}

var bob = oidcserver.User{Subject: "s-bob", Name: "bob", Password: "bobs password", Email: "bob@example.com", Groups: []string{"eng-platform", "everybody"}}

// One real browser goes the ways of a person: sets a hub up, adds a passkey,
// logs out and in again by it, logs in through a provider, and allows a
// terminal elsewhere.
func TestPeopleComeInByBrowser(t *testing.T) {
	b := freshBed(t)
	page := browser.New(t)
	page.Open(b.URL + "/setup?token=" + b.setupToken())
	eventually.For(t, limit, "the console's font is loaded", func() error {
		if is := page.Eval("Array.from(document.fonts, (f) => f.family + ' ' + f.status).join()"); is != `"Inter Variable" loaded` && is != "Inter Variable loaded" {
			return fmt.Errorf("the fonts are %q", is)
		}
		return nil
	})
	album(t, page, "setup")
	if n := page.Scripts(); n != "0" {
		t.Errorf("the setup page has %s scripts", n)
	}
	page.Fill("#email", owner)
	page.Fill("#password", password)
	page.Fill("#again", password)
	page.Click("main button")
	page.WaitForText("The hub is set up")
	album(t, page, "account")

	p := b.provider("idp", func(p *account.Provider) { p.Title = "Example" }, bob)
	page.Open(b.URL + "/logout")
	album(t, page, "logout")
	page.Click("main button")
	page.WaitForText("You are logged out")
	page.Open(b.URL + "/device?code=")
	page.WaitForText("Continue with Example")
	album(t, page, "login")
	page.Fill("#email", owner)
	page.Fill("#password", "not the password")
	page.Click("form button")
	page.WaitForText("The e-mail or the password is wrong")
	album(t, page, "login-wrong")

	page.Click("a.button")
	page.WaitFor("#go")
	page.Fill("#name", bob.Name)
	page.Fill("#password", bob.Password)
	page.Click("#go")
	page.WaitForText("Enter the code")
	album(t, page, "device")
	if p.Logins() != 1 {
		t.Errorf("%d logins at the provider", p.Logins())
	}

	started, err := b.identity().StartDevice(t.Context(), "203.0.113.7", account.CLIRequest{Client: "axle on box"})
	if err != nil {
		t.Fatal(err)
	}
	page.Fill("#code", strings.ToLower(account.ShowUserCode(started.UserCode)))
	page.Click("main button")
	page.WaitForText("203.0.113.7")
	album(t, page, "device-confirm")
	page.Click("button[value=allow]")
	page.WaitForText("is logged in as bob@example.com")
	album(t, page, "device-done")
	phase, _, made, err := b.identity().PollDevice(t.Context(), started.Code)
	if err != nil || phase != account.DeviceDone || made.OwnerName != bob.Email {
		t.Errorf("poll: %s %+v %v", phase, made.Token, err)
	}

	page.Open(b.URL + "/login/cli?redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback&state=s&code_challenge_method=S256&client=axle+on+laptop&code_challenge=" + challenge("verifier"))
	page.WaitForText("Allow the command line?")
	album(t, page, "cli")
}

// One real browser shows again who it is, makes a token, changes the password
// and logs out everywhere.
func TestPeopleProveWhoTheyAreByBrowser(t *testing.T) {
	b, _ := newBed(t)
	b.provider("idp", func(p *account.Provider) { p.Title = "Example" }, bob)
	page := browser.New(t)
	page.Open(b.URL + "/login?next=%2Flogin%2Faccount")
	page.Fill("#email", owner)
	page.Fill("#password", password)
	page.Click("form button")
	page.WaitForText("Create a token")
	b.later(11 * time.Minute)
	page.Open(b.URL + "/login/account")
	page.WaitForText("Confirm your identity")
	album(t, page, "account-unproved")
	page.Click("a.button:not(.plain)")
	page.WaitForText("Is it you?")
	album(t, page, "again")
	page.Fill("#password", "not the password")
	page.Click("form button")
	page.WaitForText("The password is wrong")
	album(t, page, "again-wrong")
	page.Fill("#password", password)
	page.Click("form button")
	page.WaitForText("Create a token")
	page.Fill("#token", "nightly report")
	page.Click("form[action=\"/login/account/token\"] button")
	page.WaitForText("It is shown only once")
	album(t, page, "account-token")

	page.Click("form[action=\"/login/account/totp\"] button")
	page.WaitForText("Scan this")
	album(t, page, "one-time-codes")
	secret := page.Eval("document.querySelector('pre').innerText")
	code := func() string {
		text, err := totp.GenerateCode(secret, b.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	page.Fill("#code", code())
	page.Click("form[action=\"/login/account/totp/confirm\"] button")
	page.WaitForText("requires a code from your authenticator app")
	page.Open(b.URL + "/logout")
	page.WaitForText("End my API tokens")
	page.Click("main button")
	page.WaitForText("You are logged out")
	b.clock.advance(time.Minute) // a code is good once
	page.Open(b.URL + "/login?next=%2Flogin%2Faccount")
	page.Fill("#email", owner)
	page.Fill("#password", password)
	page.Click("form button")
	page.WaitForText("Enter the code that your authenticator shows")
	album(t, page, "code")
	page.Fill("#code", "000000")
	page.Click("form button")
	page.WaitFor("[role=alert]")
	album(t, page, "code-wrong")
	page.Fill("#code", code())
	page.Click("form button")
	page.WaitForText("Create a token")
	page.Open(b.URL + "/logout")
	page.WaitForText("End my API tokens")
	album(t, page, "logout")
	page.Click("input[name=tokens]")
	page.Click("button[name=everywhere]")
	page.WaitForText("You are logged out")
	album(t, page, "logged-out")
	user, err := b.user(owner)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := b.Parts().Store.OwnedTokens(t.Context(), user.ID); err != nil || len(left) != 0 {
		t.Errorf("%d tokens are left: %v", len(left), err)
	}
	token, _ := b.prepare(false)
	page.Open(b.URL + "/login/reset?token=" + token)
	page.WaitForText("its API tokens end")
	album(t, page, "reset")

	page.Open(b.URL + "/login/oidc/idp?next=%2Flogin%2Fagain")
	page.WaitFor("#go")
	page.Fill("#name", bob.Name)
	page.Fill("#password", bob.Password)
	page.Click("#go")
	page.WaitForText("Log in at Example again")
	album(t, page, "again-provider")
}

// A passkey needs a name, so the hub is at localhost here.
func TestPasskey(t *testing.T) {
	b := localhostBed(t)
	page := browser.New(t)
	page.AddAuthenticator()
	page.Open(b.URL + "/setup?token=" + b.setupToken())
	page.Fill("#email", owner)
	page.Fill("#password", password)
	page.Fill("#again", password)
	page.Click("main button")
	page.WaitForText("Add a passkey")
	page.Click("form[data-passkey=make] button")
	page.WaitForText("last used: never")
	page.Open(b.URL + "/logout")
	page.Click("main button")
	page.WaitForText("You are logged out")

	// The password alone is no longer enough.
	page.Open(b.URL + "/login?next=%2Flogin%2Faccount")
	page.Fill("#email", owner)
	page.Fill("#password", password)
	page.Click("form button")
	page.WaitForText("This account has a passkey")

	page.Click("form[data-passkey=use] button")
	page.WaitForText("by passkey")
	b.later(11 * time.Minute)
	page.Open(b.URL + "/login/account")
	page.WaitForText("Confirm your identity")
	page.Click("a.button:not(.plain)")
	page.WaitForText("Is it you?")
	page.Click("form[data-passkey=use] button")
	page.WaitForText("Add a passkey")
	eventually.For(t, limit, "the passkey's use is noted", func() error {
		u, err := b.user(owner)
		if err != nil {
			return err
		}
		keys, err := b.identity().Passkeys(t.Context(), u.ID)
		if err == nil && (len(keys) != 1 || keys[0].LastUsedAt == 0) {
			err = fmt.Errorf("passkeys %+v", keys)
		}
		return err
	})
}
