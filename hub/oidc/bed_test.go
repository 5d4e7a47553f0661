package oidc_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/application"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/identitytest"
	"github.com/axle-cd/axle/hub/login"
	"github.com/axle-cd/axle/hub/oidc"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/pool"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// limit is how long anything may take on a loaded machine.
const limit = 60 * time.Second

// app and secret are the confidential client of every bed, native the public one.
const (
	app, native = "shop-orders", "shop-cli"
	secret      = "a secret that only the application knows"
	// callback has a query of its own; openid-client has none in its redirect URIs.
	callback, plainCallback = "https://orders.example.com/cb?tenant=1", "https://orders.example.com/cb"
)

// bed is a provider with some replicas behind one address, each with a store of its own, and
// requests go to each in turn.
type bed struct {
	*identitytest.Identity
	url     string
	project struct{ ID, Name string }
	clients *clients
	audit   *records

	replicas []*replica
	next     atomic.Int64
	visitors atomic.Int64
	fate     fate
	clock    *ticking
}

// replica is one replica of a bed.
type replica struct {
	identitytest.Parts
	provider *oidc.Provider
	handler  http.Handler
	writer   *mortal
}

// clients are those of a bed.
type clients struct {
	mu  sync.Mutex
	all map[string]application.Client
	// text is the secret of all confidential ones, when it is not secret.
	text string
	// asked is called with the id of each client that is looked up, unless it is nil.
	asked func(id string)
}

// secret replaces the secret of all.
func (c *clients) secret(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = text
}

// Client implements oidc.Clients.
func (c *clients) Client(_ context.Context, id string) (application.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked != nil {
		c.asked(id)
	}
	if one, ok := c.all[id]; ok {
		return one, nil
	}
	return application.Client{}, errcode.New(errcode.NotFound, "there is no application %q", id)
}

// Authenticate implements oidc.Clients.
func (c *clients) Authenticate(ctx context.Context, id, text string) (application.Client, error) {
	one, err := c.Client(ctx, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || one.Public || text != cmp.Or(c.text, secret) {
		return application.Client{}, errcode.New(errcode.Unauthorized, "the client id or the client secret is wrong")
	}
	return one, nil
}

func (c *clients) get(id string) application.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[id]
}

func (c *clients) change(id string, change func(*application.Client)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.all[id]
	change(&one)
	c.all[one.ID] = one
}

// records are what was written into the audit log.
type records struct {
	mu  sync.Mutex
	all []audit.Record
}

// Add implements oidc.Audit.
func (r *records) Add(_ context.Context, a audit.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, a)
}

func newBed(t *testing.T, d storetest.Database, replicas int) *bed {
	t.Helper()
	b := &bed{Identity: identitytest.New(t, d), clients: &clients{all: map[string]application.Client{}}, audit: &records{}}
	b.clock = &ticking{Manual: b.Fleet.Clock}
	// The library reads the machine's clock.
	b.Fleet.Clock.Advance(time.Since(b.Fleet.Clock.Now()))
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	b.url = server.URL
	b.replicas = append(b.replicas, b.replica(b.Parts, b.Fleet.Store))
	for range replicas - 1 {
		f := b.Fleet.Replica(d)
		b.replicas = append(b.replicas, b.replica(identitytest.Replica(f), f.Store))
	}
	made := b.NewProject("shop")
	b.project.ID, b.project.Name = made.ID, made.Name
	b.clients.change(app, func(c *application.Client) {
		*c = application.Client{ID: app, Name: "orders", Title: "Orders", ProjectID: b.project.ID, Settings: application.Settings{RedirectURIs: []string{callback, plainCallback}}, Access: 15 * time.Minute, Identity: 10 * time.Minute, Refresh: 720 * time.Hour, Algorithm: "RS256", DeclaredBy: "olga@example.com"}
	})
	b.clients.change(native, func(c *application.Client) {
		*c = application.Client{ID: native, Name: "orders-cli", ProjectID: b.project.ID, Settings: application.Settings{Public: true, RedirectURIs: []string{"http://127.0.0.1/cb"}}, Title: "Orders by command line", Access: 15 * time.Minute, Identity: 10 * time.Minute, Refresh: 720 * time.Hour, Algorithm: "ES256"}
	})
	return b
}

// replica makes the parts of one; a SQLite file has one only.
func (b *bed) replica(p identitytest.Parts, s *storetest.Store) *replica {
	b.T.Helper()
	pages, err := login.New(login.Config{
		Identity: p.Directory, Accounts: p.Accounts, Sealer: b.Fleet.Sealer, Origin: b.url, Clock: b.Fleet.Clock,
		Transport: func(string) (http.RoundTripper, error) { return http.DefaultTransport, nil },
	})
	if err != nil {
		b.T.Fatal(err)
	}
	writer := &mortal{Store: s, fate: &b.fate}
	provider, err := oidc.New(oidc.Config{
		Stores: oidc.Stores{Keys: s, Grants: s, Consents: s, Ended: s, Devices: s, Writer: writer}, HTTP: http.DefaultClient,
		Clients: b.clients, Identity: p.Directory, Pages: pages.Pages(), Sealer: b.Fleet.Sealer, URL: b.url, Audit: b.audit, Clock: b.clock,
	})
	if err != nil {
		b.T.Fatal(err)
	}
	mux := http.NewServeMux()
	pages.Register(mux)
	provider.Register(mux)
	return &replica{Parts: p, provider: provider, handler: mux, writer: writer}
}

// run runs what one replica at a time does, with its feed, until the test ends.
func (b *bed) run() { b.runs(b.replicas[0]) }

func (b *bed) runs(r *replica) {
	b.T.Helper()
	feed, err := event.NewFeed(event.FeedConfig{Store: b.Fleet.Store})
	if err != nil {
		b.T.Fatal(err)
	}
	feed.Subscribe(r.Directory)
	feed.Subscribe(r.provider)
	b.Fleet.Store.OnCommit(feed.Wake)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	for _, run := range []func(context.Context) error{feed.Run, r.provider.Run} {
		go func() { ended <- run(ctx) }()
	}
	b.T.Cleanup(func() {
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				b.T.Error(err)
			}
		}
	})
	eventually.For(b.T, limit, "the feed is ready", feed.Ready)
}

// ServeHTTP sends requests to each replica in turn.
func (b *bed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if from := r.Header.Get("X-Test-From"); from != "" {
		r.RemoteAddr = from
	}
	r = r.WithContext(pool.From(r.Context(), r.RemoteAddr))
	b.fate.serve(w, r, b.living())
}

// living is the next replica that was not killed.
func (b *bed) living() *replica {
	for {
		if r := b.replicas[b.next.Add(1)%int64(len(b.replicas))]; !r.writer.dead.Load() {
			return r
		}
	}
}

// user adds a person who may log in to both clients.
func (b *bed) user(name string) identity.User {
	b.T.Helper()
	u, err := b.CreateUser(b.T.Context(), "ann", identity.KindUser, name, false)
	if err != nil {
		b.T.Fatal(err)
	}
	b.bind(name)
	for _, id := range []string{app, native} {
		b.clients.change(id, func(c *application.Client) { c.Users = append(c.Users, u.Name) })
	}
	for _, r := range b.replicas {
		eventually.For(b.T, limit, "every replica knows the person", func() error {
			p, _ := r.Standing(u.ID)
			return r.Authorize(b.T.Context(), p, identity.ActionRead, identity.Scope{Project: b.project.ID})
		})
	}
	return u
}

// bind lets a user read the project.
func (b *bed) bind(name string) {
	b.T.Helper()
	if _, err := b.Bind(b.T.Context(), b.Ann.Name, b.reads(name)); err != nil {
		b.T.Fatal(err)
	}
}

func (b *bed) unbind(name string) error {
	_, err := b.Unbind(b.T.Context(), b.Ann.Name, b.reads(name))
	return err
}

// reads is the binding of a user who may read the project.
func (b *bed) reads(name string) identity.NewBinding {
	return identity.NewBinding{SubjectKind: identity.KindUser, Subject: name, Actions: []identity.Action{identity.ActionRead}, Level: identity.LevelProject, ObjectID: b.project.ID, Object: b.project.Name}
}

// visitor is a browser, logged in as a user.
type visitor struct {
	b      *bed
	client *http.Client
	// from is the address of its own.
	from string

	// The last answer.
	status int
	page   string
	header http.Header
	url    *url.URL
}

// visitor returns a browser; an empty name is nobody.
func (b *bed) visitor(name string) *visitor {
	b.T.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.T.Fatal(err)
	}
	n := b.visitors.Add(1)
	v := &visitor{b: b, from: fmt.Sprintf("10.%d.%d.1:1", n/250, n%250), client: &http.Client{Jar: jar, Timeout: limit, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), b.url+"/") {
			return http.ErrUseLastResponse
		}
		return nil
	}}}
	if name != "" {
		at, err := url.Parse(b.url)
		if err != nil {
			b.T.Fatal(err)
		}
		jar.SetCookies(at, []*http.Cookie{{Name: "axle-session", Value: b.Login(name).Secret, Path: "/"}})
	}
	return v
}

func (v *visitor) do(r *http.Request, err error) {
	v.b.T.Helper()
	if err != nil {
		v.b.T.Fatal(err)
	}
	r.Header.Set("X-Test-From", v.from)
	r.Header.Set("Accept", "text/html,*/*")
	// A clone, since the client adds its cookies.
	answer, err := v.client.Do(r.Clone(v.b.T.Context()))
	if err != nil && v.b.fate.took(r) {
		// As people do who see no answer.
		answer, err = v.client.Do(r.Clone(v.b.T.Context()))
	}
	if err != nil {
		v.b.T.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		v.b.T.Fatal(err)
	}
	v.status, v.page, v.header, v.url = answer.StatusCode, string(body), answer.Header, answer.Request.URL
}

func (v *visitor) get(at string) {
	v.b.T.Helper()
	v.do(http.NewRequest(http.MethodGet, at, nil))
}

func (v *visitor) post(at string, form url.Values) {
	v.b.T.Helper()
	r, err := http.NewRequest(http.MethodPost, at, strings.NewReader(form.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	v.do(r, err)
}

var (
	field   = regexp.MustCompile(`name="(csrf|request|user_code)" value="([^"]*)"`)
	unquote = strings.NewReplacer("&amp;", "&", "&#43;", "+", "&#34;", `"`, "&#39;", "'")
)

// answer answers the consent page.
func (v *visitor) answer(with string) {
	v.b.T.Helper()
	if !strings.Contains(v.page, `name="request"`) {
		v.b.T.Fatalf("no consent page: %d %s %s", v.status, v.url, v.page)
	}
	v.decide("/oidc/consent", with)
}

// decide sends the form of the last page with an answer.
func (v *visitor) decide(path, with string) {
	v.b.T.Helper()
	form := url.Values{"answer": {with}}
	for _, m := range field.FindAllStringSubmatch(v.page, -1) {
		form.Set(m[1], unquote.Replace(m[2]))
	}
	v.post(v.b.url+path, form)
}

// back returns the parameters of the answer that went to the application.
func (v *visitor) back() url.Values {
	v.b.T.Helper()
	to := v.header.Get("Location")
	u, err := url.Parse(to)
	if err != nil || to == "" {
		v.b.T.Fatalf("nothing went to the application: %d %s %s", v.status, v.url, v.page)
	}
	return u.Query()
}

const verifier = "0123456789012345678901234567890123456789abc"

// asked is a request of the client app, with changes.
func asked(change map[string]string) url.Values {
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"client_id": {app}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"openid profile email groups offline_access"}, "state": {"st"}, "nonce": {"no"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	for name, value := range change {
		if q.Set(name, value); value == "" {
			q.Del(name)
		}
	}
	return q
}

// authorize opens the authorization endpoint, and agrees where the page asks.
func (v *visitor) authorize(change map[string]string) url.Values {
	v.b.T.Helper()
	v.get(v.b.url + "/oidc/authorize?" + asked(change).Encode())
	if strings.Contains(v.page, `action="/oidc/consent"`) {
		v.answer("allow")
	}
	return v.back()
}

// answer is what an endpoint answered.
type answer struct {
	status int
	header http.Header
	body   map[string]any
}

func (a answer) text(name string) string {
	s, _ := a.body[name].(string)
	return s
}

// call posts a form to an endpoint as the client app, unless the form names a client.
func (b *bed) call(path string, form url.Values) answer {
	b.T.Helper()
	r, err := http.NewRequestWithContext(b.T.Context(), http.MethodPost, b.url+"/oidc"+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.T.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if !form.Has("client_id") {
		r.SetBasicAuth(app, url.QueryEscape(secret))
	}
	return b.send(r)
}

func (b *bed) send(r *http.Request) answer {
	b.T.Helper()
	got, err := http.DefaultClient.Do(r)
	if err != nil && b.fate.took(r) {
		got, err = http.DefaultClient.Do(r)
	}
	if err != nil {
		b.T.Fatal(err)
	}
	defer got.Body.Close()
	a := answer{status: got.StatusCode, header: got.Header}
	text, err := io.ReadAll(got.Body)
	if err != nil {
		b.T.Fatal(err)
	}
	_ = json.Unmarshal(text, &a.body)
	return a
}

// trade trades a code.
func (b *bed) trade(code string) answer {
	b.T.Helper()
	return b.call("/token", url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}, "code_verifier": {verifier}})
}

// refresh uses a refresh token.
func (b *bed) refresh(token string) answer {
	b.T.Helper()
	return b.call("/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
}

// userinfo uses an access token.
func (b *bed) userinfo(token string) answer {
	b.T.Helper()
	r, err := http.NewRequestWithContext(b.T.Context(), http.MethodGet, b.url+"/oidc/userinfo", nil)
	if err != nil {
		b.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return b.send(r)
}

// claimsOf are the claims of an ID token, which is not verified.
func claimsOf(t *testing.T, token string) map[string]any {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("no token: %q", token)
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(text, &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}
