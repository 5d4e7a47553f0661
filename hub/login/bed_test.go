package login_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/identity/federation"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/oidcserver"
	"github.com/axle-cd/axle/test/port"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

const (
	// limit is how long anything may take on a loaded machine.
	limit    = 60 * time.Second
	owner    = "owner@example.com"
	password = "correct horse battery staple"
)

// shifted is the machine's clock with an offset that a test may change.
type shifted struct {
	offset atomic.Int64

	mu      sync.Mutex
	waiting map[chan time.Time]time.Time
}

func (s *shifted) Now() time.Time          { return time.Now().Add(time.Duration(s.offset.Load())) }
func (s *shifted) advance(d time.Duration) { s.offset.Add(int64(d)) }

func (s *shifted) After(d time.Duration) <-chan time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan time.Time, 1)
	if s.waiting == nil {
		s.waiting = map[chan time.Time]time.Time{}
	}
	s.waiting[c] = s.Now().Add(d)
	time.AfterFunc(d, func() { s.fire(func(other chan time.Time, _ time.Time) bool { return other == c }) })
	return c
}

// pass advances the clock, and what waits for that time goes on at once.
func (s *shifted) pass(d time.Duration) {
	s.advance(d)
	now := s.Now()
	s.fire(func(_ chan time.Time, due time.Time) bool { return !due.After(now) })
}

func (s *shifted) fire(which func(c chan time.Time, due time.Time) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, due := range s.waiting {
		if which(c, due) {
			delete(s.waiting, c)
			c <- s.Now()
		}
	}
}

// bed is a hub that a local administrator has set up.
type bed struct {
	*hubtest.Hub
	t     *testing.T
	clock *shifted
}

// freshBed is a hub that was not set up yet.
func freshBed(t *testing.T) *bed { return loggedBed(t, nil) }

// loggedBed is a fresh hub that writes to a log.
func loggedBed(t *testing.T, log *slog.Logger) *bed {
	t.Helper()
	c := &shifted{}
	h := hubtest.New(t, hubtest.Config{AdminToken: "none", Hub: hubtest.HubConfig{
		Clock: c, Log: log, Console: consoleFont(), Tokens: consoleTokens(t), TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}})
	return &bed{h, t, c}
}

// consoleFont is a console that has its font for text only; nil where make web did not run.
func consoleFont() fs.FS {
	font, err := os.ReadFile("../../web/node_modules/@fontsource-variable/inter/files/inter-latin-wght-normal.woff2")
	if err != nil {
		return nil
	}
	return fstest.MapFS{"assets/inter-latin-wght-normal-C2S99t-D.woff2": {Data: font}}
}

// consoleTokens is the console's style sheet with every colour, size and font.
func consoleTokens(t *testing.T) []byte {
	t.Helper()
	sheet, err := os.ReadFile("../../web/src/ds/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	return sheet
}

// localhostBed is a fresh hub that browsers reach by a host name, as passkeys
// require.
func localhostBed(t *testing.T) *bed {
	t.Helper()
	number, err := port.Free()
	if err != nil {
		t.Fatal(err)
	}
	free, c := strconv.Itoa(number), &shifted{}
	h := hubtest.New(t, hubtest.Config{AdminToken: "none", Hub: hubtest.HubConfig{Clock: c, Tokens: consoleTokens(t), Listen: "127.0.0.1:" + free, ExternalURL: "http://localhost:" + free}})
	return &bed{h, t, c}
}

// challenge is the PKCE challenge of a verifier.
func challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func newBed(t *testing.T) (*bed, *visitor) {
	t.Helper()
	b := freshBed(t)
	v := b.visitor("198.51.100.1")
	v.get("/setup?token=" + b.setupToken())
	v.post("/setup", url.Values{"token": {b.setupToken()}, "email": {owner}, "password": {password}, "again": {password}})
	if v.status != http.StatusOK || !strings.Contains(v.page, "The hub is set up") {
		t.Fatalf("set up: %d %s", v.status, v.page)
	}
	return b, v
}

func (b *bed) setupToken() string {
	b.t.Helper()
	text, err := os.ReadFile(b.SetupTokenFile())
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// identities are the parts of the hub that know who calls.
type identities struct {
	*identity.Directory
	*account.Accounts
	*agentkey.Keys
	*federation.Trusts
}

func (b *bed) identity() identities {
	p := b.Parts()
	return identities{p.Identity, p.Accounts, p.AgentKeys, p.Trusts}
}

// later moves the clock, and waits until the hub has read its database again:
// otherwise its cached tokens are too old.
func (b *bed) later(d time.Duration) {
	b.t.Helper()
	b.clock.advance(d)
	_, err := b.identity().CreateToken(b.t.Context(), identity.Principal{Kind: identity.KindUser, ID: "usr_x", Name: owner, Scopes: []string{"read"}}, identity.TokenRequest{Name: "later"})
	if err != nil {
		b.t.Fatal(err)
	}
	eventually.For(b.t, limit, "the hub knows its tokens", func() error {
		if _, err := b.identity().Authenticate(b.t.Context(), "axle_nobody"); !errcode.Is(err, errcode.Unauthorized) {
			return fmt.Errorf("authenticate: %w", err)
		}
		return nil
	})
}

// provider starts a provider that the hub trusts.
func (b *bed) provider(name string, change func(*account.Provider), users ...oidcserver.User) *oidcserver.Server {
	b.t.Helper()
	p := oidcserver.New(b.t, users...)
	p.SetClient(oidcserver.Client{ID: "axle", Secret: "hush", Redirects: []string{b.URL + "/login/callback/" + name}, LoggedOut: []string{b.URL + "/logout/done"}})
	terms := account.Provider{Name: name, Issuer: p.URL, ClientID: "axle"}
	if change != nil {
		change(&terms)
	}
	if _, err := b.identity().CreateProvider(b.t.Context(), identity.Principal{Kind: identity.KindUser, Name: owner, Admin: true}, terms, "hush"); err != nil {
		b.t.Fatal(err)
	}
	return p
}

// user returns a user of the hub by name.
func (b *bed) user(name string) (identity.User, error) {
	return b.identity().UserByName(context.WithoutCancel(b.t.Context()), name)
}

// visitor is a browser without scripts, with its own address.
type visitor struct {
	t      *testing.T
	hub    string
	client *http.Client
	from   string

	// The last answer.
	status int
	page   string
	url    *url.URL
	header http.Header
}

func (b *bed) visitor(from string) *visitor {
	b.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return &visitor{t: b.t, hub: b.URL, client: &http.Client{Jar: jar, Timeout: limit}, from: from}
}

func (v *visitor) do(r *http.Request) {
	v.t.Helper()
	r.Header.Set("X-Forwarded-For", v.from)
	answer, err := v.client.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	v.status, v.page, v.url, v.header = answer.StatusCode, string(body), answer.Request.URL, answer.Header
}

func (v *visitor) absolute(path string) string {
	if strings.HasPrefix(path, "/") {
		return v.hub + path
	}
	return path
}

func (v *visitor) get(path string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.absolute(path), nil)
	if err != nil {
		v.t.Fatal(err)
	}
	v.do(r)
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// csrf is the token of the last page's forms.
func (v *visitor) csrf() string {
	if m := csrfField.FindStringSubmatch(v.page); m != nil {
		return m[1]
	}
	return ""
}

// post sends a form of the last page.
func (v *visitor) post(path string, form url.Values) {
	v.t.Helper()
	if form.Get("csrf") == "" {
		form.Set("csrf", v.csrf())
	}
	v.send(path, form, nil)
}

func (v *visitor) send(path string, form url.Values, header map[string]string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.absolute(path), strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	v.do(r)
}

// logIn logs in by password.
func (v *visitor) logIn(email, secret string) {
	v.t.Helper()
	v.get("/login")
	v.post("/login", url.Values{"email": {email}, "password": {secret}})
}

var requestID = regexp.MustCompile(`name=id value="([^"]+)"`)

// through logs in through a provider.
func (v *visitor) through(provider string, p *oidcserver.Server, u oidcserver.User) {
	v.t.Helper()
	v.throughFrom("/login/oidc/"+provider, p, u)
}

// throughFrom is through from a link that leads to the provider.
func (v *visitor) throughFrom(path string, p *oidcserver.Server, u oidcserver.User) {
	v.t.Helper()
	v.get(path)
	m := requestID.FindStringSubmatch(v.page)
	if m == nil {
		v.t.Fatalf("no login page of the provider: %d %s %s", v.status, v.url, v.page)
	}
	v.send(p.URL+"/signin", url.Values{"id": {m[1]}, "name": {u.Name}, "password": {u.Password}}, nil)
}

// who returns the user that the hub sees in the visitor, empty for none.
func (v *visitor) who() string {
	v.t.Helper()
	v.get("/login/session")
	if m := regexp.MustCompile(`"name":"([^"]*)"`).FindStringSubmatch(v.page); m != nil && v.status == http.StatusOK {
		return m[1]
	}
	return ""
}

// sessionCookie is the value of the session's cookie.
func (v *visitor) sessionCookie() string {
	u, err := url.Parse(v.hub)
	if err != nil {
		v.t.Fatal(err)
	}
	for _, c := range v.client.Jar.Cookies(u) {
		if strings.HasSuffix(c.Name, "axle-session") {
			return c.Value
		}
	}
	return ""
}

func (v *visitor) wants(status int, says string) {
	v.t.Helper()
	if v.status != status || !strings.Contains(v.page, says) {
		v.t.Fatalf("%s: status %d, want %d and %q in\n%s", v.url, v.status, status, says, v.page)
	}
}
