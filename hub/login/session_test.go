package login_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/login"
	"github.com/axle-cd/axle/internal/errcode"
)

func TestFormsNeedTheirToken(t *testing.T) {
	b, v := newBed(t)
	v.get("/logout")
	good := v.csrf()
	for name, tc := range map[string]struct {
		csrf   string
		header map[string]string
	}{
		"no token":         {"", nil},
		"made up":          {"made-up", nil},
		"of no session":    {login.FormToken("other"), nil},
		"from elsewhere":   {good, map[string]string{"Origin": "https://evil.example.com"}},
		"from another tab": {good, map[string]string{"Sec-Fetch-Site": "cross-site"}},
		"same site, other": {good, map[string]string{"Sec-Fetch-Site": "same-site"}},
	} {
		v.send("/logout", url.Values{"csrf": {tc.csrf}}, tc.header)
		if v.status != http.StatusForbidden {
			t.Errorf("%s: %d", name, v.status)
		}
	}
	if who := v.who(); who != owner {
		t.Fatalf("logged out by a form of somebody: %q", who)
	}
	// Logging in is a write too: nobody may log another browser in as
	// themselves.
	w := b.visitor("198.51.100.30")
	w.send("/login", url.Values{"email": {owner}, "password": {password}}, nil)
	w.wants(http.StatusForbidden, "does not come from this hub")
}

func TestCookiesAreOfThisHostAlone(t *testing.T) {
	b, _ := newBed(t)
	v := b.visitor("198.51.100.31")
	v.get("/login")
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	v.post("/login", url.Values{"email": {owner}, "password": {password}})
	set := strings.Join(v.header.Values("Set-Cookie"), "\n")
	for _, want := range []string{"axle-session=axle_", "HttpOnly", "SameSite=Lax", "Path=/"} {
		if !strings.Contains(set, want) {
			t.Errorf("no %s in %s", want, set)
		}
	}
	if strings.Contains(set, "Domain=") {
		t.Errorf("a cookie for other hosts: %s", set)
	}
	for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'", "X-Frame-Options": "DENY", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
		if !strings.Contains(v.header.Get(name), want) {
			t.Errorf("%s: %q", name, v.header.Get(name))
		}
	}
	p := b.visitor("198.51.100.32")
	p.get("/login")
	if policy := p.header.Get("Content-Security-Policy"); !strings.Contains(policy, "; font-src 'self';") {
		t.Errorf("the policy of a page does not let its font: %s", policy)
	}
	p.get("/login/assets/inter.woff2")
	if p.status != http.StatusOK || p.header.Get("Content-Type") != "font/woff2" || !strings.HasPrefix(p.page, "wOF2") {
		t.Errorf("the font: %d %s, %d bytes", p.status, p.header.Get("Content-Type"), len(p.page))
	}
	// A session is a cookie's value and no token.
	if _, err := b.identity().Authenticate(t.Context(), v.sessionCookie()); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("a session's value as a token: %v", err)
	}
}

// A login does not continue a session that somebody put into the browser.
func TestLoginMakesANewSession(t *testing.T) {
	b, attacker := newBed(t)
	p := b.provider("idp", nil, bob)
	base, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, planted := range []string{attacker.sessionCookie(), "axle_planted"} {
		v := b.visitor("198.51.100.32")
		v.client.Jar.SetCookies(base, []*http.Cookie{{Name: "axle-session", Value: planted, Path: "/"}})
		v.through("idp", p, bob)
		if v.who() != bob.Email || v.sessionCookie() == planted {
			t.Errorf("the session of before lives on: %q", v.who())
		}
	}
	if who := attacker.who(); who != "" {
		t.Errorf("the session that was planted goes on, as %q", who)
	}
}

// The console keeps a person's views under their id: a name may be somebody else's later.
func TestSessionTellsTheId(t *testing.T) {
	b, v := newBed(t)
	user, err := b.identity().UserByName(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	v.get("/login/session")
	if !strings.Contains(v.page, `"id":"`+user.ID+`"`) {
		t.Errorf("no id %s in %s", user.ID, v.page)
	}
}

func TestSessionsEnd(t *testing.T) {
	b, v := newBed(t)
	if v.who() != owner {
		t.Fatal("nobody is logged in")
	}
	b.later(11 * time.Hour)
	if who := v.who(); who != owner {
		t.Fatalf("after 11 h: %q", who)
	}
	b.later(11 * time.Hour)
	if who := v.who(); who != owner {
		t.Fatalf("used 11 h ago: %q", who)
	}
	b.later(12*time.Hour + time.Minute)
	if who := v.who(); who != "" {
		t.Errorf("unused for 12 h: %q", who)
	}
	w := b.visitor("198.51.100.33")
	w.logIn(owner, password)
	for range 20 {
		b.later(8 * time.Hour)
		if who := w.who(); who != owner {
			t.Fatalf("in use: %q", who)
		}
	}
	b.later(9 * time.Hour)
	if who := w.who(); who != "" {
		t.Errorf("after 7 days: %q", who)
	}
}

func TestNextStaysHere(t *testing.T) {
	_, v := newBed(t)
	for next, want := range map[string]string{
		"/login/account": "/login/account", "/device?code=AB": "/device",
		"//evil.example": "/", "https://evil.example/": "/", "/\\evil.example": "/", "\\/evil.example": "/", "/\t/evil.example": "/",
		"javascript:alert(1)": "/", "/%09/evil.example": "/%09/evil.example", "/logout": "/", "": "/", "evil": "/", "/login/callback/x?code=1": "/",
	} {
		v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		v.get("/login?next=" + url.QueryEscape(next))
		to, err := url.Parse(v.header.Get("Location"))
		if err != nil || v.status != http.StatusSeeOther || to.Host != "" || !strings.HasPrefix(v.header.Get("Location"), want) || (want == "/" && v.header.Get("Location") != "/") {
			t.Errorf("%q leads to %q", next, v.header.Get("Location"))
		}
	}
}

// The API accepts a session's cookie only from pages of this origin.
func TestAPITakesACookieWithItsHeader(t *testing.T) {
	_, v := newBed(t)
	v.get("/login/session")
	_, after, _ := strings.Cut(v.page, `"csrf":"`)
	token, _, _ := strings.Cut(after, `"`)
	call := func(header map[string]string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.absolute("/axle.hub.v1.Sessions/WhoAmI"), strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		for name, value := range header {
			r.Header.Set(name, value)
		}
		v.do(r)
		return v.status
	}
	for name, tc := range map[string]struct {
		header map[string]string
		want   int
	}{
		"with the header":      {map[string]string{login.CSRFHeader: token}, http.StatusOK},
		"same origin":          {map[string]string{login.CSRFHeader: token, "Sec-Fetch-Site": "same-origin", "Origin": v.hub}, http.StatusOK},
		"without":              {nil, http.StatusForbidden},
		"wrong":                {map[string]string{login.CSRFHeader: "x"}, http.StatusForbidden},
		"from another site":    {map[string]string{login.CSRFHeader: token, "Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		"from another origin":  {map[string]string{login.CSRFHeader: token, "Origin": "https://evil.example"}, http.StatusForbidden},
		"beside a wrong token": {map[string]string{login.CSRFHeader: token, "Authorization": "Bearer axle_nothing"}, http.StatusUnauthorized},
		"beside another way":   {map[string]string{login.CSRFHeader: token, "Authorization": "Basic YTpi"}, http.StatusUnauthorized},
	} {
		if got := call(tc.header); got != tc.want {
			t.Errorf("%s: %d %s", name, got, v.page)
		}
	}
}

func TestCommandLineByBrowser(t *testing.T) {
	b, v := newBed(t)
	query := url.Values{"redirect_uri": {"http://127.0.0.1:1/callback"}, "state": {"st"}, "code_challenge_method": {"S256"}, "code_challenge": {challenge("verifier")}, "client": {"axle on x"}, "scope": {"read"}, "lifetime": {"3600"}}
	for name, change := range map[string]url.Values{
		"another machine": {"redirect_uri": {"http://192.0.2.1:80/"}}, "a name": {"redirect_uri": {"http://localhost:1/"}}, "https": {"redirect_uri": {"https://127.0.0.1:1/"}},
		"a user": {"redirect_uri": {"http://127.0.0.1:1@evil.example/"}}, "plain": {"code_challenge_method": {"plain"}}, "no state": {"state": {""}},
		"too long": {"lifetime": {"999999999"}}, "unknown scope": {"scope": {"root"}},
	} {
		bad := url.Values{}
		for k, x := range query {
			bad[k] = x
		}
		for k, x := range change {
			bad[k] = x
		}
		v.get("/login/cli?" + bad.Encode())
		if v.status < 400 {
			t.Errorf("%s: %d", name, v.status)
		}
	}
	v.get("/login/cli?" + query.Encode())
	v.wants(http.StatusOK, "axle on x")
	if policy := v.header.Get("Content-Security-Policy"); !strings.Contains(policy, "form-action 'self' http://127.0.0.1:1") {
		t.Errorf("policy %s", policy)
	}
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	form := url.Values{"csrf": {v.csrf()}, "answer": {"allow"}}
	for k, x := range query {
		form[k] = x
	}
	code := func() string {
		t.Helper()
		v.send("/login/cli", form, nil)
		to, err := url.Parse(v.header.Get("Location"))
		if err != nil || to.Host != "127.0.0.1:1" || to.Query().Get("state") != "st" {
			t.Fatalf("sent to %s: %d %s", v.header.Get("Location"), v.status, v.page)
		}
		return to.Query().Get("code")
	}
	one := code()
	d := b.identity()
	for name, try := range map[string][2]string{"other verifier": {one, "other"}, "cut": {one[:len(one)-4], "verifier"}, "empty": {"", ""}} {
		if _, err := d.ExchangeCode(t.Context(), try[0], try[1]); !errcode.Is(err, errcode.Unauthorized) {
			t.Errorf("%s: %v", name, err)
		}
	}
	made, err := d.ExchangeCode(t.Context(), one, "verifier")
	if err != nil || made.OwnerName != owner || strings.Join(made.Scopes, ",") != "read" {
		t.Fatalf("%+v, %v", made.Token, err)
	}
	if _, err := d.ExchangeCode(t.Context(), one, "verifier"); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("a code was taken twice: %v", err)
	}
	old := code()
	b.clock.advance(3 * time.Minute)
	if _, err := d.ExchangeCode(t.Context(), old, "verifier"); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("a code of 3 min ago: %v", err)
	}
	last := code()
	p, err := d.AuthenticateSession(t.Context(), v.sessionCookie())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := d.EndSessions(t.Context(), p, "", false); err != nil || n < 2 {
		t.Errorf("%d sessions ended, %v", n, err)
	}
	if _, err := d.Authenticate(t.Context(), made.Secret); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("the command line lives on after logging out everywhere: %v", err)
	}
	if _, err := d.ExchangeCode(t.Context(), last, "verifier"); !errcode.Is(err, errcode.Unauthorized) {
		t.Errorf("a code of a session that ended: %v", err)
	}
}

func TestDeviceLogin(t *testing.T) {
	b, v := newBed(t)
	d := b.identity()
	start := func() account.StartedDevice {
		t.Helper()
		s, err := d.StartDevice(t.Context(), "203.0.113.5", account.CLIRequest{Client: "axle on y"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	poll := func(code string) (account.DevicePhase, identity.CreatedToken) {
		t.Helper()
		phase, _, made, err := d.PollDevice(t.Context(), code)
		if err != nil {
			t.Fatal(err)
		}
		return phase, made
	}
	s := start()
	if phase, _ := poll(s.Code); phase != account.DevicePending {
		t.Errorf("first poll: %s", phase)
	}
	if phase, _ := poll(s.Code); phase != account.DeviceSlowDown {
		t.Errorf("a poll at once: %s", phase)
	}
	b.clock.advance(6 * time.Second)
	if phase, _ := poll(s.Code); phase != account.DeviceSlowDown {
		t.Errorf("a poll after 6 s, told to wait 10: %s", phase)
	}
	b.clock.advance(20 * time.Second)
	if phase, _ := poll(s.Code); phase != account.DevicePending {
		t.Errorf("a poll in time: %s", phase)
	}
	v.get("/device?code=" + s.UserCode)
	v.wants(http.StatusOK, "203.0.113.5")
	v.post("/device", url.Values{"code": {s.UserCode}, "answer": {"allow"}})
	v.wants(http.StatusOK, "is logged in as")
	phase, made := poll(s.Code)
	if p, err := d.Authenticate(t.Context(), made.Secret); phase != account.DeviceDone || err != nil || p.Name != owner {
		t.Errorf("%s: %+v, %v", phase, p, err)
	}
	if phase, _ := poll(s.Code); phase != account.DeviceExpired {
		t.Errorf("a second token for one code: %s", phase)
	}
	v.get("/device?code=" + s.UserCode)
	v.wants(http.StatusNotFound, "no login is waiting for this code")

	s = start()
	v.get("/device?code=" + s.UserCode)
	v.post("/device", url.Values{"code": {s.UserCode}, "answer": {"deny"}})
	v.wants(http.StatusOK, "was refused")
	// An answered request cannot be answered again, by anybody.
	v.get("/device")
	v.post("/device", url.Values{"code": {s.UserCode}, "answer": {"allow"}})
	v.wants(http.StatusNotFound, "no login is waiting for this code")
	if phase, _ := poll(s.Code); phase != account.DeviceDenied {
		t.Errorf("denied: %s", phase)
	}
	s = start()
	b.clock.advance(11 * time.Minute)
	v.get("/device?code=" + s.UserCode)
	v.wants(http.StatusNotFound, "no login is waiting for this code")
	if phase, _ := poll(s.Code); phase != account.DeviceExpired {
		t.Errorf("expired: %s", phase)
	}
	for range 20 {
		start()
	}
	if _, err := d.StartDevice(t.Context(), "203.0.113.5", account.CLIRequest{}); !errcode.Is(err, errcode.Exhausted) {
		t.Errorf("one source has no bound: %v", err)
	}
	if _, err := d.StartDevice(t.Context(), "203.0.113.6", account.CLIRequest{}); err != nil {
		t.Errorf("another source is held up: %v", err)
	}
}
