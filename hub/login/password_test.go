package login_test

import (
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/axle-cd/axle/internal/errcode"
)

func mapKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

func TestSetupWorksOnceAndExpires(t *testing.T) {
	b := freshBed(t)
	token := b.setupToken()
	v := b.visitor("198.51.100.1")
	v.get("/login")
	v.wants(http.StatusOK, "Nobody has set this hub up yet")
	v.get("/setup?token=" + token + "x")
	v.wants(http.StatusUnauthorized, "not the one")
	v.get("/setup?token=" + token)
	for name, form := range map[string]url.Values{
		"short":        {"email": {owner}, "password": {"short"}, "again": {"short"}},
		"not the same": {"email": {owner}, "password": {password}, "again": {password + "x"}},
		"no address":   {"email": {"me"}, "password": {password}, "again": {password}},
		"its own name": {"email": {owner}, "password": {owner}, "again": {owner}},
	} {
		form.Set("token", token)
		v.post("/setup", form)
		if v.status != http.StatusUnprocessableEntity || strings.Contains(v.page, password) {
			t.Errorf("%s: %d %s", name, v.status, v.page)
		}
	}
	b.clock.advance(25 * time.Hour)
	v.get("/setup?token=" + token)
	v.wants(http.StatusUnauthorized, "not the one")
	b.clock.offset.Store(0)
	v.from = "203.0.113.2" // the first one's attempts were counted in the future
	v.get("/setup?token=" + token)
	v.post("/setup", url.Values{"token": {token}, "email": {owner}, "password": {password}, "again": {password}})
	v.wants(http.StatusOK, "The hub is set up")
	if who := v.who(); who != owner {
		t.Errorf("logged in as %q", who)
	}
	late := b.visitor("203.0.113.9")
	late.get("/setup?token=" + token)
	late.wants(http.StatusUnauthorized, "set up already")
}

// Guesses from elsewhere, however many and from however many places, use only
// their own attempts: the owner can log in at once.
func TestGuessesFromElsewhereDoNotLockTheOwner(t *testing.T) {
	b, _ := newBed(t)
	attacker := b.visitor("203.0.113.1")
	attacker.get("/login")
	limited := false
	for range 12 {
		attacker.post("/login", url.Values{"email": {owner}, "password": {"a guess of somebody"}})
		limited = limited || attacker.status == http.StatusTooManyRequests
	}
	if !limited || attacker.header.Get("Retry-After") == "" {
		t.Errorf("nobody stops the guesses: %d", attacker.status)
	}
	// Not even the right password helps where too many were wrong.
	attacker.post("/login", url.Values{"email": {owner}, "password": {password}})
	attacker.wants(http.StatusTooManyRequests, "too many attempts from here")
	attacker.wants(http.StatusTooManyRequests, "(pool login_guesses)")
	// Another account from there is another matter, and the owner elsewhere too.
	for i := range 3 {
		other := b.visitor(fmt.Sprintf("203.0.113.%d", 10+i))
		other.get("/login")
		for range 6 {
			other.post("/login", url.Values{"email": {owner}, "password": {"a guess of somebody"}})
		}
	}
	home := b.visitor("198.51.100.20")
	home.logIn(owner, password)
	if who := home.who(); who != owner {
		t.Fatalf("the owner is locked out: %d %s", home.status, home.page)
	}
	// Behind one address with the attacker, the browser that was in before has
	// its own count.
	home.get("/logout")
	home.post("/logout", url.Values{})
	home.from = "203.0.113.1"
	home.logIn(owner, password)
	if who := home.who(); who != owner {
		t.Errorf("a known browser is locked out: %d %s", home.status, home.page)
	}
	b.clock.advance(5 * time.Minute)
	attacker.get("/login")
	attacker.post("/login", url.Values{"email": {owner}, "password": {"a guess of somebody"}})
	attacker.wants(http.StatusUnauthorized, "the e-mail or the password is wrong")
}

func TestNobodyLearnsWhichAccountsThereAre(t *testing.T) {
	b, _ := newBed(t)
	v := b.visitor("198.51.100.21")
	v.logIn(owner, "not the password at all")
	known := strings.ReplaceAll(v.page, owner, "X")
	status := v.status
	v.logIn("nobody@example.com", "not the password at all")
	unknown := strings.ReplaceAll(v.page, "nobody@example.com", "X")
	if csrf := v.csrf(); v.status != status || strings.ReplaceAll(known, csrf, "") != strings.ReplaceAll(unknown, csrf, "") {
		t.Errorf("the answers differ:\n%s\n%s", known, unknown)
	}
}

func TestOneTimeCodes(t *testing.T) {
	b, v := newBed(t)
	v.get("/login/account")
	v.post("/login/account/totp", url.Values{})
	_, after, _ := strings.Cut(v.page, "<pre>")
	secret, _, found := strings.Cut(after, "</pre>")
	if !found {
		t.Fatalf("no secret in %s", v.page)
	}
	code := func() string {
		c, err := totp.GenerateCode(secret, b.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	v.post("/login/account/totp/confirm", url.Values{"code": {"000000"}})
	v.wants(http.StatusUnprocessableEntity, "the code is wrong; check")
	first := code()
	v.post("/login/account/totp/confirm", url.Values{"code": {first}})
	v.wants(http.StatusOK, "Stop using codes")

	w := b.visitor("198.51.100.22")
	w.logIn(owner, password)
	w.wants(http.StatusOK, "One-time code")
	if who := w.who(); who != "" {
		t.Fatalf("the password alone was enough: %s", who)
	}
	w.get("/login/code")
	w.post("/login/code", url.Values{"code": {first}})
	w.wants(http.StatusUnauthorized, "was used already")
	b.clock.advance(time.Minute)
	w.post("/login/code", url.Values{"code": {code()}})
	if who := w.who(); who != owner {
		t.Fatalf("%d %s", w.status, w.page)
	}
	b.later(11 * time.Minute)
	w.get("/login/account")
	w.post("/login/account/totp/drop", url.Values{})
	w.wants(http.StatusOK, "Is it you?")
	w.post("/login/again", url.Values{"password": {"not the password"}, "next": {"/login/account"}})
	w.wants(http.StatusUnauthorized, "the password is wrong")
	w.post("/login/again", url.Values{"password": {password}, "next": {"/login/account"}})
	w.wants(http.StatusOK, "Stop using codes")
	w.post("/login/account/totp/drop", url.Values{})
	w.wants(http.StatusOK, "Set up one-time codes")
}

func TestPasswordChangeEndsOtherSessions(t *testing.T) {
	b, v := newBed(t)
	other := b.visitor("198.51.100.23")
	other.logIn(owner, password)
	v.get("/login/account")
	v.post("/login/account/password", url.Values{"present": {"wrong wrong wrong"}, "password": {"another long password"}, "again": {"another long password"}})
	v.wants(http.StatusUnauthorized, "current password is wrong")
	v.post("/login/account/password", url.Values{"present": {password}, "password": {"another long password"}, "again": {"another long password"}})
	v.wants(http.StatusOK, "Sessions and command lines")
	if v.who() != owner || other.who() != "" {
		t.Errorf("this session %q, the other one %q", v.who(), other.who())
	}
	if _, _, err := b.identity().CheckPassword(t.Context(), owner, password); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("the old password: %v", err)
	}
	if u, _, err := b.identity().CheckPassword(t.Context(), owner, "another long password"); err != nil || u.Name != owner {
		t.Errorf("the new password: %v %v", u, err)
	}
}
