package git_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/githubapp"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestHTTPCredentials goes through the ways to be let in over HTTPS.
func TestHTTPCredentials(t *testing.T) {
	t.Parallel()
	g := newUpstream(t, git.Config{})
	s := newGit(t, gitserver.Config{TLS: true, Username: "me", Password: "pass:word/&'\""})
	url := s.URL(repo)
	reads(t, g, git.Access{URL: url, CA: s.CA(), Username: "me", Password: "pass:word/&'\""}, "basic")
	s.SetCheck(func(_, password string) bool { return password == "tok" })
	reads(t, g, git.Access{URL: url, CA: s.CA(), Password: "tok"}, "token")
	s.SetCheck(nil)
	s.SetPassword("", "")
	s.RequireClientCertificate(true)
	if err := s.CloseConnections(t.Context()); err != nil {
		t.Fatal(err)
	}
	cert, key, err := s.ClientCertificate()
	if err != nil {
		t.Fatal(err)
	}
	reads(t, g, git.Access{URL: url, CA: s.CA(), ClientCertificate: cert, ClientKey: key}, "client certificate")
	if _, _, err := list(t.Context(), server(t, g, git.Access{URL: url, CA: s.CA()})); err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("without a client certificate: %v", err)
	}
	for name, a := range map[string]git.Access{
		"bad CA":     {URL: url, CA: "x"},
		"half a key": {URL: url, ClientCertificate: cert},
		"other key":  {URL: url, ClientCertificate: cert, ClientKey: s.CA()},
		"bad proxy":  {URL: url, Proxy: "ftp://x"},
		"with user":  {URL: url, Proxy: "http://u:p@x"},
	} {
		if _, err := g.Server(a); !errcode.Is(err, errcode.Invalid) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGitHubApp follows a token through its life: got, kept, renewed before
// its end, got again when it was revoked.
func TestGitHubApp(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	advance := func(d time.Duration) { mu.Lock(); now = now.Add(d); mu.Unlock() }
	app, err := githubapp.Start(t.Context(), githubapp.Config{Repository: repo, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	s := newGit(t, gitserver.Config{})
	s.SetCheck(func(user, token string) bool { return user == "x-access-token" && app.Valid(user, token) })
	g := newUpstream(t, git.Config{Now: clock})
	good := git.App{ID: "1", InstallationID: "10", PrivateKey: app.PrivateKey(), APIURL: app.URL()}
	srv, m := server(t, g, git.Access{URL: s.URL(repo), App: &good}), newRepository(t)
	again := func(when string, tokens int) {
		t.Helper()
		commit(t, s, "main", when)
		if _, err := pull(t.Context(), srv, m); err != nil || app.Issued() != tokens {
			t.Errorf("%s: %v; %d tokens, want %d", when, err, app.Issued(), tokens)
		}
	}
	again("first", 1)
	again("a second time", 1)
	advance(54 * time.Minute)
	again("while it is good", 1)
	advance(2 * time.Minute)
	again("5 minutes before its end", 2)
	app.Revoke()
	again("after it was revoked", 3)
	if want := `{"permissions":{"contents":"read"}}`; app.Requests()[0] != want {
		t.Errorf("asked for %s, want %s", app.Requests()[0], want)
	}
	// The installation is found where none is given.
	found := good
	found.InstallationID = ""
	reads(t, g, git.Access{URL: s.URL(repo), App: &found}, "found installation")

	for name, tt := range map[string]struct {
		change func(*git.App)
		code   errcode.Code
		want   string
	}{
		"other app":        {func(a *git.App) { a.ID = "2" }, errcode.Unauthorized, "refuses the GitHub App 2: Integration not found"},
		"no installation":  {func(a *git.App) { a.InstallationID = "11" }, errcode.NotFound, "check the installation id"},
		"no key":           {func(a *git.App) { a.PrivateKey = "" }, errcode.Invalid, "needs its id and private key"},
		"a key of nothing": {func(a *git.App) { a.PrivateKey = "x" }, errcode.Invalid, "private key cannot be read"},
		"not a number":     {func(a *git.App) { a.InstallationID = "../x" }, errcode.Invalid, "is a number"},
		"other API":        {func(a *git.App) { a.APIURL = s.URL(repo) }, errcode.NotFound, "HTTP"},
	} {
		a := good
		tt.change(&a)
		srv, err := g.Server(git.Access{URL: s.URL(repo), App: &a})
		if err == nil {
			_, _, err = list(t.Context(), srv)
		}
		if err == nil || name != "other API" && (!errcode.Is(err, tt.code) || !strings.Contains(err.Error(), tt.want)) || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: %v (%s), want %q", name, err, errcode.Of(err), tt.want)
		}
	}
	app.Fail(http.StatusInternalServerError)
	app.Revoke()
	if _, _, err := list(t.Context(), srv); !errcode.Is(err, errcode.Unavailable) {
		t.Errorf("GitHub is away: %v", err)
	}
}

// TestProxies connects through HTTP and SOCKS proxies, of the repository and of
// the environment, for HTTPS and SSH, with a name that only the proxy can
// resolve.
func TestProxies(t *testing.T) {
	t.Parallel()
	private, authorized := sshKey(t, "ed25519", "")
	s := newGit(t, gitserver.Config{TLS: true, SSH: true, AuthorizedKey: authorized})
	plain := newGit(t, gitserver.Config{})
	for _, scheme := range []string{"http", "socks5"} {
		p, err := gitserver.StartProxy(t.Context(), scheme, "me", "se/cret@")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		const name = "git.example.test"
		p.Name(name, "127.0.0.1")
		at := func(url string) string { return strings.Replace(url, "127.0.0.1", name, 1) }
		withUser := strings.Replace(p.URL(), "://", "://me:se%2Fcret%40@", 1)
		environment := map[string]string{"HTTPS_PROXY": withUser, "http_proxy": withUser, "ALL_PROXY": withUser, "NO_PROXY": "direct.example.test"}
		for which, a := range map[string]git.Access{
			"https": {URL: at(s.URL(repo)), CA: s.CA()},
			"http":  {URL: at(plain.URL(repo))},
			"ssh":   {URL: at(s.SSHURL(repo)), PrivateKey: private, KnownHosts: strings.ReplaceAll(s.KnownHosts(), "127.0.0.1", name)},
		} {
			before := len(p.Log())
			own := a
			own.Proxy, own.ProxyUsername, own.ProxyPassword = p.URL(), "me", "se/cret@"
			reads(t, newUpstream(t, git.Config{}), own, which+" through its own "+scheme)
			if len(p.Log()) < before+2 || !slices.ContainsFunc(p.Log(), func(addr string) bool { return strings.HasPrefix(addr, name+":") }) {
				t.Errorf("%s through %s: the proxy saw %v", which, scheme, p.Log())
			}
			// A proxy of the hub's environment may be internal.
			reads(t, newUpstream(t, git.Config{Allow: []netip.Prefix{}, Getenv: func(k string) string { return environment[k] }}), a, which+" through the environment's "+scheme)
			own.ProxyPassword = "wrong password"
			_, _, err := list(t.Context(), server(t, newUpstream(t, git.Config{}), own))
			if err == nil || !strings.Contains(err.Error(), "proxy "+scheme) || strings.Contains(err.Error(), "wrong password") {
				t.Errorf("%s through %s, wrong password: %v", which, scheme, err)
			}
		}
		// A proxy does not bypass the address check.
		g := newUpstream(t, git.Config{Allow: []netip.Prefix{}, Getenv: func(k string) string { return environment[k] }})
		n := len(p.Log())
		for _, url := range []string{"https://169.254.169.254/a/b", "https://10.1.2.3/a/b"} {
			if _, _, err := list(t.Context(), server(t, g, git.Access{URL: url})); !errcode.Is(err, errcode.Forbidden) {
				t.Errorf("%s through %s: %v", url, scheme, err)
			}
		}
		if len(p.Log()) != n {
			t.Errorf("%s: the proxy was asked for %v", scheme, p.Log()[n:])
		}
		// A repository's own proxy is an address like any other.
		if _, _, err := list(t.Context(), server(t, newUpstream(t, git.Config{Allow: []netip.Prefix{}}), git.Access{URL: "https://git.example.test/a/b", Proxy: p.URL()})); !errcode.Is(err, errcode.Forbidden) {
			t.Errorf("an internal proxy of a repository: %v", err)
		}
	}
}

// TestRefusals checks the user's error for each failure, in the listing and in
// the fetch.
func TestRefusals(t *testing.T) {
	t.Parallel()
	other := newGit(t, gitserver.Config{})
	for name, tt := range map[string]struct {
		fault gitserver.Fault
		code  errcode.Code
		want  string
		wait  time.Duration
	}{
		"401":           {gitserver.Fault{Status: 401}, errcode.Unauthorized, "wants credentials (HTTP 401)", 0},
		"403":           {gitserver.Fault{Status: 403, Body: "no\n", Header: http.Header{"Content-Type": {"text/plain"}}}, errcode.Unauthorized, "HTTP 403): no", 0},
		"404":           {gitserver.Fault{Status: 404}, errcode.NotFound, "does not exist, or the credentials may not see it", 0},
		"429":           {gitserver.TooMany(90 * time.Second), errcode.Unavailable, "UTC (HTTP 429): slow down", 90 * time.Second},
		"429 for ever":  {gitserver.TooMany(999999 * time.Hour), errcode.Unavailable, "asks to come back later, after ", time.Hour},
		"503":           {gitserver.Fault{Status: 503, Header: http.Header{"Retry-After": {time.Now().Add(20 * time.Minute).UTC().Format(http.TimeFormat)}}}, errcode.Unavailable, "HTTP 503", 20 * time.Minute},
		"500":           {gitserver.Fault{Status: 500, Body: "<h1>secret</h1>"}, errcode.Unavailable, "answered HTTP 500", 0},
		"sign-in page":  {gitserver.Fault{Body: "<html>sign in"}, errcode.Unavailable, "did not answer as a Git server", 0},
		"garbage":       {gitserver.Fault{Garbage: true}, errcode.Unavailable, "", 0},
		"reset":         {gitserver.Fault{Reset: true}, errcode.Unavailable, "", 0},
		"other host":    {gitserver.Fault{Redirect: strings.TrimSuffix(other.URL(""), "/.git")}, errcode.Invalid, "redirects to http://" + other.Addr(), 0},
		"hanging":       {gitserver.Fault{Hang: true}, errcode.Unavailable, "did not answer in time", 0},
		"cut mid-pack":  {gitserver.Fault{Only: gitserver.Fetch, CutAt: 100}, errcode.Unavailable, "", 0},
		"wrong kind":    {gitserver.Fault{Status: 418}, errcode.Unavailable, "HTTP 418", 0},
		"redirect here": {gitserver.Fault{Redirect: "self"}, errcode.Unavailable, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newGit(t, gitserver.Config{})
			if tt.fault.Redirect == "self" {
				tt.fault.Redirect = strings.TrimSuffix(s.URL(""), "/.git")
			}
			// Only what hangs has a short time-out: a busy machine takes long
			// to answer.
			g, limits := newUpstream(t, git.Config{}), git.Config{}
			if tt.fault.Hang {
				limits = git.Config{ListTimeout: 2 * time.Second, FetchTimeout: 4 * time.Second}
			}
			srv, m := server(t, newUpstream(t, limits), git.Access{URL: s.URL(repo)}), newRepository(t)
			for _, kind := range []gitserver.Kind{gitserver.Connect, gitserver.LsRefs, gitserver.Fetch} {
				if tt.fault.Only != "" && tt.fault.Only != kind {
					continue
				}
				f := tt.fault
				f.Only = kind
				s.SetFault(repo, f)
				_, err := pull(t.Context(), srv, m)
				if !errcode.Is(err, tt.code) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "127.0.0.1") || strings.Contains(err.Error(), "axle:") || strings.Contains(err.Error(), "secret") {
					t.Errorf("%s: %v (%s), want %q (%s)", kind, err, errcode.Of(err), tt.want, tt.code)
				}
				if got := errcode.RetryAfter(err); got > tt.wait || got < tt.wait/2 { // a date comes nearer while other tests run
					t.Errorf("%s: wait %v, want %v", kind, got, tt.wait)
				}
			}
			s.SetFault(repo, gitserver.Fault{})
			if _, err := pull(t.Context(), server(t, g, git.Access{URL: s.URL(repo)}), m); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			if n := len(other.Log("")); n != 0 {
				t.Errorf("%d requests went elsewhere", n)
			}
		})
	}
}

// TestExpiredCertificate checks that the error says since when.
func TestExpiredCertificate(t *testing.T) {
	t.Parallel()
	s := newGit(t, gitserver.Config{TLS: true})
	g := newUpstream(t, git.Config{})
	s.Expire(true)
	_, _, err := list(t.Context(), server(t, g, git.Access{URL: s.URL(repo), CA: s.CA()}))
	if !errcode.Is(err, errcode.Unavailable) || !strings.Contains(err.Error(), "; renew it there") {
		t.Errorf("expired: %v", err)
	}
	s.Expire(false)
	_, _, err = list(t.Context(), server(t, g, git.Access{URL: s.URL(repo)}))
	if err == nil || !strings.Contains(err.Error(), "give the repository the CA") {
		t.Errorf("unknown authority: %v", err)
	}
	reads(t, g, git.Access{URL: s.URL(repo), CA: s.CA()}, "good again")
}

// names is a name server that gives each question the next of its answers.
type names struct {
	mu      sync.Mutex
	answers []string
	asked   int
}

func (n *names) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			size, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			if out := n.answer(buf[:size]); out != nil {
				_, _ = c.WriteTo(out, from)
			}
		}
	}()
	t.Cleanup(func() { _ = c.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", c.LocalAddr().String())
	}}
}

func (n *names) answer(raw []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(raw) != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response = true
	q := m.Questions[0]
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case len(n.answers) == 0:
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		ip := n.answers[min(n.asked, len(n.answers)-1)]
		n.asked++
		m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: [4]byte(net.ParseIP(ip).To4())}}}
	}
	m.Additionals = nil
	out, _ := m.Pack()
	return out
}

// TestNames checks that a name which resolves to an internal address is refused
// whenever it does, and that one which does not resolve is reported.
func TestNames(t *testing.T) {
	t.Parallel()
	s := newGit(t, gitserver.Config{})
	_, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("http://git.example.test:%s/%s.git", port, repo)
	for name, tt := range map[string]struct {
		answers []string
		code    errcode.Code
		want    string
	}{
		"nowhere":    {nil, errcode.Unavailable, "cannot be resolved"},
		"loopback":   {[]string{"127.0.0.1"}, errcode.Forbidden, "127.0.0.1 is internal"},
		"link-local": {[]string{"169.254.169.254"}, errcode.Forbidden, "169.254.169.254 is internal"},
		"private":    {[]string{"10.0.0.1"}, errcode.Forbidden, "10.0.0.1 is internal"},
		// The first resolution gives a good address, the one that counts does
		// not.
		"rebinding": {[]string{"203.0.113.9", "127.0.0.1"}, errcode.Forbidden, "127.0.0.1 is internal"},
	} {
		n := &names{answers: tt.answers}
		r := n.resolver(t)
		if name == "rebinding" {
			if found, err := r.LookupHost(t.Context(), "git.example.test"); err != nil || found[0] != "203.0.113.9" {
				t.Fatalf("%v, %v", found, err)
			}
		}
		g := newUpstream(t, git.Config{Allow: []netip.Prefix{}, Resolver: r})
		_, _, err := list(t.Context(), server(t, g, git.Access{URL: url}))
		if !errcode.Is(err, tt.code) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v (%s), want %q", name, err, errcode.Of(err), tt.want)
		}
	}
	if n := len(s.Log("")); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
	reads(t, newUpstream(t, git.Config{Resolver: (&names{answers: []string{"127.0.0.1"}}).resolver(t)}), git.Access{URL: url}, "allowed")
}

// looking is a Runner that checks what other users of this machine could see.
type looking struct {
	mu   sync.Mutex
	text strings.Builder
}

// Run notes arguments and environment.
func (l *looking) Run(ctx context.Context, c gitexec.Command) error {
	l.mu.Lock()
	fmt.Fprintln(&l.text, c.Args, c.Env)
	l.mu.Unlock()
	return gitexec.Direct{}.Run(ctx, c)
}

// TestSecretsStayHere checks that git gets none of the repository's secrets:
// not in arguments, not in its environment, not in files.
func TestSecretsStayHere(t *testing.T) {
	t.Parallel()
	const password = "s3cr3t-of-mine"
	private, authorized := sshKey(t, "ed25519", password)
	s := newGit(t, gitserver.Config{TLS: true, Password: password, SSH: true, AuthorizedKey: authorized})
	look := &looking{}
	g := newUpstream(t, git.Config{Runner: look})
	for _, a := range []git.Access{
		{URL: s.URL(repo), CA: s.CA(), Password: password},
		{URL: s.SSHURL(repo), PrivateKey: private, Passphrase: password, KnownHosts: s.KnownHosts()},
	} {
		m := newRepository(t)
		if _, err := pull(t.Context(), server(t, g, a), m); err != nil {
			t.Fatal(err)
		}
		err := filepath.WalkDir(m.dir, func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if raw, _ := os.ReadFile(p); strings.Contains(string(raw), password) {
				t.Errorf("the secret is in %s", p)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if text := look.text.String(); strings.Contains(text, password) || strings.Contains(text, "PRIVATE") || !strings.Contains(text, "fetch") {
		t.Errorf("git was given %s", text)
	}
}

// TestGatewayLetsNobodyElseIn checks that the gateway for git accepts only its
// token, its server and its two requests.
func TestGatewayLetsNobodyElseIn(t *testing.T) {
	t.Parallel()
	s, other := newGit(t, gitserver.Config{Password: "p"}), newGit(t, gitserver.Config{})
	tried := make(chan error, 1)
	g := newUpstream(t, git.Config{Runner: runner(func(ctx context.Context, c gitexec.Command) error {
		tried <- tryGateway(ctx, c, s, other)
		return gitexec.Direct{}.Run(ctx, c)
	})})
	if _, err := pull(t.Context(), server(t, g, git.Access{URL: s.URL(repo), Password: "p"}), newRepository(t)); err != nil {
		t.Fatal(err)
	}
	if err := <-tried; err != nil {
		t.Error(err)
	}
}

type runner func(context.Context, gitexec.Command) error

// Run calls the function.
func (r runner) Run(ctx context.Context, c gitexec.Command) error { return r(ctx, c) }

// tryGateway is a neighbour that read the environment of git.
func tryGateway(ctx context.Context, c gitexec.Command, s, other *gitserver.Server) error {
	var proxy string
	for i, kv := range c.Env {
		if strings.HasSuffix(kv, "=http.proxy") {
			_, proxy, _ = strings.Cut(c.Env[i+1], "=")
		}
	}
	with := func(p string) (*http.Client, error) {
		u, err := url.Parse(p)
		return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(u), DisableKeepAlives: true}}, err
	}
	good, err := with(proxy)
	if err != nil {
		return err
	}
	at, _ := url.Parse(proxy)
	at.User = url.UserPassword("axle", "guessed")
	wrong, _ := with(at.String())
	at.User = nil
	none, _ := with(at.String())
	for name, tt := range map[string]struct {
		client *http.Client
		url    string
		want   int
	}{
		"git itself":     {good, s.URL(repo) + "/info/refs?service=git-upload-pack", http.StatusOK},
		"another server": {good, other.URL(repo) + "/info/refs?service=git-upload-pack", http.StatusForbidden},
		"another file":   {good, s.URL(repo) + "/HEAD", http.StatusForbidden},
		"wrong token":    {wrong, s.URL(repo) + "/info/refs", http.StatusForbidden},
		"no token":       {none, s.URL(repo) + "/info/refs", http.StatusProxyAuthRequired},
	} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, tt.url, nil)
		if err != nil {
			return err
		}
		resp, err := tt.client.Do(r)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != tt.want {
			return fmt.Errorf("%s: HTTP %d, want %d", name, resp.StatusCode, tt.want)
		}
	}
	return nil
}
