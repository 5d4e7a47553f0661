package login_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

// manyTries are more than a source has: 60, and one in 2 s while the test tries,
// which on a busy machine may be one for each second try.
const manyTries = 300

// local makes a further local account.
func (b *bed) local(email string) identity.User {
	b.t.Helper()
	user, err := b.identity().CreateUser(b.t.Context(), owner, identity.KindUser, email, false)
	if err != nil {
		b.t.Fatal(err)
	}
	made, _, err := b.identity().PrepareReset(b.t.Context(), byRoot, email, false)
	if err == nil {
		_, err = b.identity().ResetPassword(b.t.Context(), made.Secret, password)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return user
}

// The cookie of another account's set-up of one-time codes is not accepted: the
// account would get codes that somebody else knows.
func TestOneTimeCodesOfSomebodyElseAreNotTaken(t *testing.T) {
	b, v := newBed(t)
	ann := b.local("ann@example.com")
	base, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	v.get("/login/account")
	v.post("/login/account/totp", url.Values{})
	_, after, _ := strings.Cut(v.page, "<pre>")
	secret, _, _ := strings.Cut(after, "</pre>")
	code, err := totp.GenerateCode(secret, b.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	w := b.visitor("198.51.100.51")
	w.logIn(ann.Name, password)
	for _, c := range v.client.Jar.Cookies(base) {
		if strings.HasSuffix(c.Name, "axle-totp") {
			w.client.Jar.SetCookies(base, []*http.Cookie{{Name: c.Name, Value: c.Value, Path: "/"}})
		}
	}
	w.get("/login/account")
	w.post("/login/account/totp/confirm", url.Values{"code": {code}})
	factor, err := b.identity().SecondFactor(t.Context(), ann.ID)
	if err != nil || factor.Needed() || !strings.Contains(w.page, "took too long") {
		t.Errorf("%+v, %v: %d %s", factor, err, w.status, w.page)
	}
}

// A logged-in user cannot guess which codes of terminals are waiting, neither
// by looking nor by answering.
func TestCodesOfTerminalsAreNotGuessed(t *testing.T) {
	b, v := newBed(t)
	ann := b.local("ann@example.com")
	w := b.visitor("198.51.100.52")
	w.logIn(ann.Name, password)
	w.get("/device")
	csrf := w.csrf()
	stopped := func(v *visitor, try func()) bool {
		for range manyTries {
			if try(); v.status == http.StatusTooManyRequests {
				return strings.Contains(v.page, "(pool login_codes)") && v.header.Get("Retry-After") != ""
			}
		}
		return false
	}
	if !stopped(v, func() { v.get("/device?code=BCDF-GHJK") }) {
		t.Errorf("codes may be looked at without end: %d", v.status)
	}
	if !stopped(w, func() { w.send("/device", url.Values{"csrf": {csrf}, "code": {"BCDF-GHJK"}, "answer": {"allow"}}, nil) }) {
		t.Errorf("codes may be answered without end: %d", w.status)
	}
}

// TestAnOfficeLogsIn holds that a hundred people behind one address log in one after the
// other: what was right does not count.
func TestAnOfficeLogsIn(t *testing.T) {
	b, _ := newBed(t)
	p := b.provider("idp", nil, bob)
	for n := range 100 {
		v := b.visitor("203.0.113.60")
		if v.through("idp", p, bob); v.who() != bob.Email {
			t.Fatalf("the person number %d: %d %s", n+1, v.status, v.page)
		}
	}
	v := b.visitor("203.0.113.60")
	for range manyTries {
		if v.get("/setup?token=axle_guess"); v.status == http.StatusTooManyRequests {
			return
		}
	}
	t.Errorf("what is wrong counts no more: %d", v.status)
}

// One source with endless attempts delays nobody else.
func TestTriesOfOneSourceAreBounded(t *testing.T) {
	b, _ := newBed(t)
	v, other := b.visitor("203.0.113.50"), b.visitor("203.0.113.51")
	for range manyTries {
		if v.get("/setup?token=axle_guess"); v.status == http.StatusTooManyRequests {
			break
		}
	}
	v.wants(http.StatusTooManyRequests, "too many attempts from here")
	v.wants(http.StatusTooManyRequests, "(pool login_tries)")
	if v.header.Get("Retry-After") == "" {
		t.Error("it does not say when to come again")
	}
	other.get("/setup?token=axle_guess")
	other.wants(http.StatusUnauthorized, "set up already")
}

func TestSessionsAreOfOnePersonAndOneKind(t *testing.T) {
	b, v := newBed(t)
	d := b.identity()
	ann := b.local("ann@example.com")
	as := identity.Principal{Kind: identity.KindUser, ID: ann.ID, Name: ann.Name, Scopes: []string{"read", "write", "admin"}}
	mine, err := d.AuthenticateSession(t.Context(), v.sessionCookie())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.EndSession(t.Context(), as, mine.TokenID); !errcode.Is(err, errcode.NotFound) {
		t.Errorf("somebody else's session was ended: %v", err)
	}
	if _, err := d.EndSessions(t.Context(), as, mine.ID, false); !errcode.Is(err, errcode.Forbidden) {
		t.Errorf("somebody else's sessions were ended: %v", err)
	}
	if all, err := d.Sessions(t.Context(), as, mine.ID); !errcode.Is(err, errcode.Forbidden) || len(all) > 0 {
		t.Errorf("somebody else's sessions: %v, %v", all, err)
	}
	reader := mine
	reader.Scopes = []string{"read"}
	if _, err := d.EndSessions(t.Context(), reader, ann.ID, false); !errcode.Is(err, errcode.Forbidden) {
		t.Errorf("an administrator's token that may only read: %v", err)
	}
	if who := v.who(); who != owner {
		t.Errorf("logged in as %q", who)
	}
	token, err := d.CreateToken(t.Context(), mine, identity.TokenRequest{Name: "ci"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.AuthenticateSession(t.Context(), token.Secret); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("an API token as a session: %v", err)
	}
	bot, err := d.CreateUser(t.Context(), owner, identity.KindServiceAccount, "bot", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.StartSession(t.Context(), bot, account.SessionTerms{Method: account.MethodPassword}, ""); !errcode.Is(err, errcode.Forbidden) {
		t.Errorf("a session of a program: %v", err)
	}
}

// A copy of the cookie is logged out too.
func TestLogoutEndsTheSession(t *testing.T) {
	b, v := newBed(t)
	kept := v.sessionCookie()
	if _, err := b.identity().AuthenticateSession(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	v.get("/logout")
	v.post("/logout", url.Values{})
	if _, err := b.identity().AuthenticateSession(t.Context(), kept); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("the session after its logout: %v", err)
	}
}

func TestLogoutEverywhereEndsAll(t *testing.T) {
	b, v := newBed(t)
	other := b.visitor("198.51.100.53")
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
	v.get("/login/account")
	v.post("/logout", url.Values{"everywhere": {"1"}})
	if v.who() != "" || other.who() != "" {
		t.Errorf("still logged in: %q, %q", v.who(), other.who())
	}
	if _, err := b.identity().Authenticate(t.Context(), cli.Secret); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("a command line goes on: %v", err)
	}
}

func TestNoToACommandLineGivesNoCode(t *testing.T) {
	_, v := newBed(t)
	query := url.Values{"redirect_uri": {"http://127.0.0.1:1/callback"}, "state": {"st"}, "code_challenge_method": {"S256"}, "code_challenge": {challenge("verifier")}, "client": {"axle on x"}}
	v.get("/login/cli?" + query.Encode())
	v.wants(http.StatusOK, "axle on x")
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, answer := range []string{"deny", "", "yes"} {
		form := url.Values{"csrf": {v.csrf()}, "answer": {answer}}
		for k, x := range query {
			form[k] = x
		}
		csrf := form.Get("csrf")
		v.send("/login/cli", form, nil)
		to, err := url.Parse(v.header.Get("Location"))
		if err != nil || to.Query().Get("error") != "access_denied" || to.Query().Has("code") {
			t.Errorf("answer %q leads to %s", answer, v.header.Get("Location"))
		}
		v.page = `name="csrf" value="` + csrf + `"`
	}
}

// Logins and failed logins are recorded, without the typed password.
func TestLoginsAreRecordedWithoutPasswords(t *testing.T) {
	b, v := newBed(t)
	const typed = "the password of something else"
	w := b.visitor("198.51.100.54")
	w.logIn(owner, typed)
	w.logIn(owner, password)
	v.get("/logout")
	v.post("/logout", url.Values{})
	want := map[string]int{"login ok": 2, "login unauthorized": 1, "logout ok": 1}
	eventually.For(t, limit, "logins are recorded", func() error {
		rows, err := b.Parts().Store.AuditRows(t.Context(), audit.Query{})
		if err != nil {
			return err
		}
		got := map[string]int{}
		for _, row := range rows {
			if strings.Contains(string(row.Record), typed) || strings.Contains(string(row.Record), password) {
				t.Fatalf("a password was recorded: %s", row.Record)
			}
			if row.Columns.Actor != owner {
				continue
			}
			got[row.Columns.Action+" "+row.Columns.Result]++
		}
		for what, n := range want {
			if got[what] != n {
				return errcode.New(errcode.Internal, "recorded are %v, want %v", got, want)
			}
		}
		return nil
	})
}

// Who types wrong passwords without end costs a bounded number of records, which have the
// count; others' wrong passwords are recorded still.
func TestWrongPasswordsCostFewRecords(t *testing.T) {
	b, _ := newBed(t)
	v, other := b.visitor("203.0.113.60"), b.visitor("198.51.100.60")
	for range manyTries {
		v.logIn("ann@example.com", "the password of something else")
	}
	other.logIn("bob@example.com", "the password of something else")
	eventually.For(t, limit, "the last one is recorded, and the others are counted", func() error {
		b.clock.pass(time.Minute) // the pause between two counts
		rows, err := b.Parts().Store.AuditRows(t.Context(), audit.Query{Limit: 1000})
		if err != nil {
			return err
		}
		own, others, counted := 0, 0, 0
		for _, row := range rows {
			r, err := row.Open()
			if err != nil {
				return err
			}
			switch {
			case r.Actor == "ann@example.com":
				own++
			case r.Actor == "bob@example.com":
				others++
			case r.Action == audit.ActionRefused:
				n, _ := strconv.Atoi(r.Detail["refused"])
				counted += n
			}
		}
		if own > manyTries/2 {
			t.Fatalf("%d wrong passwords of one source have %d records", manyTries, own)
		}
		if others != 1 || own+counted != manyTries {
			return fmt.Errorf("%d and %d of others are recorded, %d counted", own, others, counted)
		}
		return nil
	})
}
