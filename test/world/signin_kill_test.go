package world_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/world"
)

const (
	signInPerson   = "bob@example.com"
	signInSecret   = "a secret of the former provider"
	signInCallback = "http://127.0.0.1/cb"
	signInLeft     = "http://127.0.0.1/bye"
	signInVerifier = "0123456789012345678901234567890123456789abc"
)

// signIns are three replicas as processes, and a person with a browser and two applications.
// Requests go to each living replica in turn, and one is killed as kill -9 does.
type signIns struct {
	*fleet
	web     *http.Client
	ended   chan string
	refuses sync.Mutex

	next int
	// at is when a replica is killed, left how many requests before. killed is the one that was.
	at     string
	left   int
	killed *world.Replica
}

// The moments of a death: when a replica has the request, and when its answer is there.
const (
	asked    = "when it is asked"
	answered = "when it has answered"
)

func newSignIns(t *testing.T) *signIns {
	t.Helper()
	s := &signIns{ended: make(chan string, 100)}
	// An application that is told of logouts; the hub calls https only, by name.
	told := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ended <- r.PostFormValue("logout_token")
		s.refuses.Lock() // held while a replica is killed
		defer s.refuses.Unlock()
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(told.Close)
	proxy, err := gitserver.StartProxy(t.Context(), "http", "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	proxy.Name("example.com", "127.0.0.1")
	authority := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: told.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	s.fleet = newFleetWith(t, world.Config{
		Replicas: 3, Hub: []string{"--trusted-proxies", "127.0.0.0/8"}, Only: []string{"axle"}, HubEnv: []string{"HTTPS_PROXY=" + proxy.URL(), "SSL_CERT_FILE=" + authority},
	}, 0)
	s.axle("users", "create", signInPerson, "--admin") // who may read the project
	s.axle("projects", "update", "default", "--allow-domain", "example.com")
	file := filepath.Join(t.TempDir(), "secret")
	s.must(os.WriteFile(file, []byte(signInSecret), 0o600))
	notices := strings.Replace(told.URL, "127.0.0.1", "example.com", 1) + "/ended"
	for _, app := range []string{"orders", "stock"} {
		s.axle("applications", "apply", app, "--project", "default", "--client-id", app, "--client-secret-file", file, "--redirect-uris", signInCallback, "--post-logout-redirect-uris", signInLeft,
			"--back-channel-logout-uri", notices, "--users", signInPerson)
	}
	jar, err := cookiejar.New(nil)
	s.must(err)
	s.web = &http.Client{Jar: jar, Transport: s, Timeout: time.Minute, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if !strings.HasPrefix(r.URL.String(), s.Origin()+"/") || r.URL.Path == "/" { // this world has no console
			return http.ErrUseLastResponse
		}
		return nil
	}}
	s.password()
	s.enter()
	return s
}

var (
	resetPath  = regexp.MustCompile(`/login/reset\?token=(\S+)`)
	signInForm = regexp.MustCompile(`name="(csrf|request|user_code|token|next)" value="([^"]*)"`)
)

const signInWords = "a few words of bob"

// password sets one for the person, by the link that a hub prints.
func (s *signIns) password() {
	s.t.Helper()
	printed, err := s.Replicated.Hubs[0].Run(s.t.Context(), "admin", "reset", signInPerson, "--external-url", s.Origin(), "--key-file", filepath.Join(s.Dir, "hub.key"))
	s.must(err)
	link := resetPath.FindStringSubmatch(printed)
	if link == nil {
		s.t.Fatalf("no link: %s", printed)
	}
	s.post("/login/reset", s.get(link[0]).page, url.Values{"token": {link[1]}, "password": {signInWords}, "again": {signInWords}})
}

// enter logs the browser in to the hub.
func (s *signIns) enter() {
	s.t.Helper()
	s.post("/login", s.get("/login").page, url.Values{"email": {signInPerson}, "password": {signInWords}})
}

// RoundTrip sends a request to the next living replica, and to another one when it dies.
func (s *signIns) RoundTrip(r *http.Request) (*http.Response, error) {
	for {
		s.next++
		hub := s.Replicated.Hubs[s.next%len(s.Replicated.Hubs)]
		if hub == s.killed {
			continue
		}
		dies := ""
		if s.at != "" && s.killed == nil {
			if s.left--; s.left < 0 {
				dies = s.at
			}
		}
		ctx := r.Context()
		if dies == asked {
			ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { s.kill(hub) }})
		}
		out := r.Clone(ctx)
		at, err := url.Parse(hub.URL)
		if err != nil {
			return nil, err
		}
		out.URL.Host, out.Host = at.Host, r.URL.Host
		out.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.1", s.next/250, s.next%250)) // a share of its own
		if r.GetBody != nil {
			if out.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		answer, err := s.send(out)
		if err != nil && s.killed == hub {
			continue // as people do who see no answer
		}
		if err == nil && dies == answered {
			s.kill(hub)
		}
		return answer, err
	}
}

// send reads the whole answer: what is cut off is none. Each request has a connection of its own.
func (s *signIns) send(r *http.Request) (*http.Response, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

func (s *signIns) kill(hub *world.Replica) {
	s.killed = hub
	if err := hub.Kill(); err != nil {
		s.t.Error(err)
	}
}

// arm kills a replica at the nth request from now on; an empty moment does no more, and
// starts the one that was killed.
func (s *signIns) arm(at string, n int) (killed bool) {
	s.t.Helper()
	if killed = s.killed != nil; killed {
		s.must(s.killed.Start(s.t.Context()))
	}
	s.at, s.left, s.killed = at, n, nil
	return killed
}

// seen is what the browser shows.
type seen struct {
	status int
	page   string
	header http.Header
}

func (s *signIns) do(method, path string, form url.Values) seen {
	s.t.Helper()
	to := path
	if strings.HasPrefix(path, "/") {
		to = s.Origin() + path
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, to, strings.NewReader(form.Encode()))
	s.must(err)
	r.Header.Set("Accept", "text/html")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", s.Origin())
	}
	answer, err := s.web.Do(r)
	s.must(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	s.must(err)
	return seen{answer.StatusCode, string(text), answer.Header}
}

func (s *signIns) get(path string) seen {
	s.t.Helper()
	return s.do(http.MethodGet, path, nil)
}

// post sends the form of a page with more values.
func (s *signIns) post(path, page string, with url.Values) seen {
	s.t.Helper()
	for _, m := range signInForm.FindAllStringSubmatch(page, -1) {
		if !with.Has(m[1]) {
			with.Set(m[1], html.UnescapeString(m[2]))
		}
	}
	got := s.do(http.MethodPost, path, with)
	if got.status >= http.StatusBadRequest {
		s.t.Fatalf("%s: %d %s", path, got.status, got.page)
	}
	return got
}

// call is a request of an application to an endpoint.
func (s *signIns) call(app, path string, form url.Values) (status int, body map[string]string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.Origin()+"/oidc"+path, strings.NewReader(form.Encode()))
	s.must(err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(app, url.QueryEscape(signInSecret))
	answer, err := (&http.Client{Transport: s}).Do(r)
	s.must(err)
	defer answer.Body.Close()
	all := map[string]any{}
	text, err := io.ReadAll(answer.Body)
	s.must(err)
	_ = json.Unmarshal(text, &all)
	body = map[string]string{}
	for name, value := range all {
		body[name] = fmt.Sprint(value)
	}
	return answer.StatusCode, body
}

// code is what the browser brings back to the application: its parameters.
func (s *signIns) code(with url.Values) url.Values {
	s.t.Helper()
	sum := sha256.Sum256([]byte(signInVerifier))
	q := url.Values{
		"client_id": {"orders"}, "redirect_uri": {signInCallback}, "response_type": {"code"}, "scope": {"openid email groups offline_access"}, "state": {"st"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	for name := range with {
		q.Set(name, with.Get(name))
	}
	got := s.get("/oidc/authorize?" + q.Encode())
	if strings.Contains(got.page, `action="/oidc/consent"`) {
		got = s.post("/oidc/consent", got.page, url.Values{"answer": {"allow"}})
	}
	back, err := url.Parse(got.header.Get("Location"))
	s.must(err)
	return back.Query()
}

// login is what an application does: where a code is refused it sends the person again.
func (s *signIns) login() map[string]string {
	s.t.Helper()
	trade := func(code string) (int, map[string]string) {
		return s.call("orders", "/token", url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {signInCallback}, "code_verifier": {signInVerifier}})
	}
	status, body := trade(s.code(nil).Get("code"))
	if body["error"] == "invalid_grant" {
		status, body = trade(s.code(url.Values{"prompt": {"none"}}).Get("code"))
	}
	if status != http.StatusOK {
		s.t.Fatalf("%d %v", status, body)
	}
	return body
}

func works(status int, body map[string]string) error {
	if status != http.StatusOK || body["access_token"] == "" {
		return fmt.Errorf("%d %v", status, body)
	}
	return nil
}

// flows are those of the provider: what goes before, and what a replica dies in.
func (s *signIns) flows() map[string]func() func() error {
	refresh := func(token string) (int, map[string]string) {
		return s.call("orders", "/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
	}
	return map[string]func() func() error{
		"code": func() func() error {
			return func() error {
				s.login()
				return nil
			}
		},
		"refresh": func() func() error {
			token := s.login()["refresh_token"]
			return func() error {
				status, next := refresh(token)
				if err := works(status, next); err != nil {
					return err
				}
				return works(refresh(next["refresh_token"]))
			}
		},
		"device": func() func() error {
			return func() error {
				for range 2 {
					_, begun := s.call("orders", "/device", url.Values{"scope": {"openid email"}})
					page := s.get("/oidc/device?user_code=" + begun["user_code"])
					s.post("/oidc/device/answer", page.page, url.Values{"answer": {"allow"}})
					status, body := s.call("orders", "/token", url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {begun["device_code"]}})
					if body["error"] != "invalid_grant" {
						return works(status, body)
					}
				}
				return errors.New("the device was refused twice")
			}
		},
		"exchange": func() func() error {
			token := s.login()["access_token"]
			return func() error {
				return works(s.call("stock", "/token", url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {token}, "subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"}}))
			}
		},
		"logout": func() func() error {
			hint := s.login()["id_token"]
			return func() error {
				got := s.get("/oidc/logout?" + url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {signInLeft}}.Encode())
				if to := got.header.Get("Location"); to != signInLeft {
					return fmt.Errorf("led to %q: %d", to, got.status)
				}
				if q := s.code(url.Values{"prompt": {"none"}}); q.Get("error") != "login_required" {
					return fmt.Errorf("after the logout: %v", q)
				}
				s.at = ""
				s.enter() // for what comes next
				return nil
			}
		},
	}
}

// One of three processes of a hub is killed in a login: whoever asks again gets what they
// would have got. In soak it is killed at each request of each flow, and while a logout is
// announced to applications (make soak).
func TestAProcessIsKilledInASignIn(t *testing.T) {
	t.Parallel()
	s := newSignIns(t)
	if os.Getenv("AXLE_SOAK") == "" {
		s.login()
		s.arm(asked, 1)
		s.login()
		if !s.arm("", 0) {
			t.Error("nobody was killed")
		}
		return
	}
	deaths := 0
	for name, prepare := range s.flows() {
		for _, at := range []string{asked, answered} {
			for n := 0; ; n++ {
				act := prepare()
				s.arm(at, n)
				err := act()
				killed := s.arm("", 0)
				if err != nil {
					t.Errorf("%s, one killed at request %d %s (%v): %v", name, n+1, at, killed, err)
				}
				if !killed {
					break
				}
				deaths++
			}
		}
	}
	t.Logf("%d processes were killed", deaths)
	if deaths < 20 {
		t.Errorf("%d processes were killed in the flows", deaths)
	}
	s.announces()
}

// announces kills each replica in turn between the first notice of a logout, which the
// application refuses, and the next one: one of them is the one that notifies.
func (s *signIns) announces() {
	for _, hub := range s.Replicated.Hubs {
		s.login()
		for len(s.ended) > 0 {
			<-s.ended
		}
		s.refuses.Lock()
		s.axle("applications", "end", "orders", "--user", signInPerson)
		first := s.notice()
		s.must(hub.Kill())
		s.refuses.Unlock()
		for claimOf(s.notice(), "jti") != claimOf(first, "jti") { // each login that ended has one
			continue
		}
		s.must(hub.Start(s.t.Context()))
	}
}

// notice is the next logout token that the application gets.
func (s *signIns) notice() string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Minute)
	defer cancel()
	select {
	case token := <-s.ended:
		return token
	case <-ctx.Done():
		s.t.Fatal("no notice")
	}
	return ""
}

func claimOf(token, name string) string {
	parts := strings.Split(token, ".")
	claims := map[string]any{}
	if len(parts) == 3 {
		text, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(text, &claims)
	}
	return fmt.Sprint(claims[name])
}
