package proxy_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"k8s.io/client-go/tools/clientcmd"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/pages"
)

// direct is a hub that signs people in, a machine of one of them, and the API server that
// they reach without the hub.
type direct struct {
	t      *testing.T
	hub    *hubtest.Hub
	client *sdk.Client
	axle   string
	// folder is where commands run, with the cache of the person's machine.
	folder  string
	browser *http.Client
	api     *kube.Cluster
}

const bob = "bob@example.com"

func newDirect(t *testing.T) *direct {
	t.Helper()
	d := &direct{t: t, hub: hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{DevCA: true}}), folder: t.TempDir()}
	ca, err := os.ReadFile(d.hub.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	if d.client, err = sdk.New(sdk.Config{URL: d.hub.URL, Token: d.hub.AdminToken, CAPEM: ca}); err != nil {
		t.Fatal(err)
	}
	if d.axle, err = bin.Path(t.Context(), "axle", bin.Options{}); err != nil {
		t.Fatal(err)
	}
	must(t)(d.client.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge-1"})))
	must(t)(d.client.Users.Create(t.Context(), connect.NewRequest(&hubv1.CreateUserRequest{Email: bob})))
	must(t)(d.client.Groups.Create(t.Context(), connect.NewRequest(&hubv1.CreateGroupRequest{Name: "shop-admins"})))
	must(t)(d.client.Groups.Create(t.Context(), connect.NewRequest(&hubv1.CreateGroupRequest{Name: "others"})))
	for _, group := range []string{"shop-admins", "others"} {
		must(t)(d.client.Groups.AddMember(t.Context(), connect.NewRequest(&hubv1.AddMemberRequest{Group: group, User: bob})))
	}
	must(t)(d.client.Bindings.Create(t.Context(), connect.NewRequest(&hubv1.CreateBindingRequest{
		SubjectKind: "user", Subject: bob, Actions: []string{"read"}, Place: &hubv1.Place{Project: "default"},
	})))
	d.logIn(ca)
	return d
}

// logIn gives the person a browser in which they are logged in.
func (d *direct) logIn(ca []byte) {
	d.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		d.t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}
	d.t.Cleanup(transport.CloseIdleConnections)
	d.browser = &http.Client{Jar: jar, Timeout: time.Minute, Transport: transport}
	parts := d.hub.Parts()
	by, err := parts.Identity.Authenticate(d.t.Context(), d.hub.AdminToken)
	if err != nil {
		d.t.Fatal(err)
	}
	reset, _, err := parts.Accounts.PrepareReset(d.t.Context(), by, bob, false)
	if err != nil {
		d.t.Fatal(err)
	}
	const password = "correct horse battery"
	page := d.get(d.hub.URL + "/login/reset?token=" + reset.Secret)
	d.answer("/login/reset", page, url.Values{"password": {password}, "again": {password}})
	page = d.get(d.hub.URL + "/login")
	d.answer("/login", page, url.Values{"email": {bob}, "password": {password}})
}

func (d *direct) page(answer *http.Response, err error) string {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(body)
}

func (d *direct) get(address string) string {
	d.t.Helper()
	return d.page(d.browser.Get(address)) //nolint:noctx // the client has a timeout
}

var hiddenFields = regexp.MustCompile(`type="hidden" name="([^"]+)" value="([^"]*)"`)

// answer sends the form of a page with its hidden fields.
func (d *direct) answer(path, page string, with url.Values) string {
	d.t.Helper()
	for _, m := range hiddenFields.FindAllStringSubmatch(page, -1) {
		if !with.Has(m[1]) {
			with.Set(m[1], html.UnescapeString(m[2]))
		}
	}
	return d.page(d.browser.PostForm(d.hub.URL+path, with)) //nolint:noctx // the client has a timeout
}

// printing is what a command has printed so far.
type printing struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *printing) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *printing) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// started is a command that runs.
type started struct {
	out, err *printing
	ended    chan error
}

// start starts a shell on the person's machine.
func (d *direct) start(script string) *started {
	d.t.Helper()
	c := exec.CommandContext(d.t.Context(), "bash", "-euc", script)
	kubeconfig := ""
	if d.api != nil {
		kubeconfig = filepath.Join(d.folder, "admin.yaml")
	}
	c.Env = append(os.Environ(), "AXLE_HUB_URL="+d.hub.URL, "AXLE_TOKEN="+d.hub.AdminToken, "AXLE_CA_FILE="+d.hub.CAFile(), "KUBECONFIG="+kubeconfig,
		"PATH="+filepath.Dir(d.axle)+":"+os.Getenv("PATH"), "HOME="+d.folder, "XDG_CACHE_HOME="+filepath.Join(d.folder, "cache"), "BROWSER=true")
	s := &started{&printing{}, &printing{}, make(chan error, 1)}
	c.Dir, c.Stdout, c.Stderr, c.WaitDelay = d.folder, s.out, s.err, 5*time.Second
	if err := c.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() { s.ended <- c.Wait() }()
	return s
}

// run is start for a script that succeeds.
func (d *direct) run(script string) string {
	d.t.Helper()
	s := d.start(script)
	if err := <-s.ended; err != nil {
		d.t.Fatalf("%s\n%v\n%s%s", script, err, s.out, s.err)
	}
	return s.out.String()
}

// said waits until one of some commands has printed something.
func (d *direct) said(pattern string, of ...*started) string {
	d.t.Helper()
	var got string
	eventually.For(d.t, limit, "the command says "+pattern, func() error {
		for _, s := range of {
			if got = regexp.MustCompile(pattern).FindString(s.err.String()); got != "" {
				return nil
			}
		}
		return errors.New(of[0].err.String())
	})
	return got
}

// allow logs in by the browser at an address.
func (d *direct) allow(address string) {
	d.t.Helper()
	page := d.get(address)
	if strings.Contains(page, `action="/oidc/consent"`) {
		page = d.answer("/oidc/consent", page, url.Values{"answer": {"allow"}})
	}
	if !strings.Contains(page, "You are logged in") {
		d.t.Fatalf("no login: %s", page)
	}
}

// kept is the file of tokens on the person's machine.
func (d *direct) kept() (path string, tokens map[string]any) {
	d.t.Helper()
	all, err := filepath.Glob(filepath.Join(d.folder, "cache", "axle", "signin", "*.json"))
	if err != nil || len(all) != 1 {
		d.t.Fatalf("files of tokens: %v %v", all, err)
	}
	text, err := os.ReadFile(all[0])
	if err == nil {
		err = json.Unmarshal(text, &tokens)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return all[0], tokens
}

// age makes the token that is kept look as if it ended now.
func (d *direct) age() {
	d.t.Helper()
	path, tokens := d.kept()
	tokens["expiresAt"] = time.Now().Add(-time.Second)
	text, err := json.Marshal(tokens)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// admin writes the administrator's kubeconfig with the context that the page names.
func (d *direct) admin() {
	d.t.Helper()
	config, err := clientcmd.LoadFromFile(d.api.Kubeconfig())
	if err != nil {
		d.t.Fatal(err)
	}
	config.Contexts["edge-1-admin"] = config.Contexts[config.CurrentContext]
	if err := clientcmd.WriteToFile(*config, filepath.Join(d.folder, "admin.yaml")); err != nil {
		d.t.Fatal(err)
	}
}

// TestKubectlWithoutTheHub runs the commands of its page, against a real API server that
// verifies the hub's ID tokens.
func TestKubectlWithoutTheHub(t *testing.T) {
	t.Parallel()
	blocks, err := pages.Script("../../docs/howto/kubectl-without-the-hub.md")
	if err != nil || len(blocks) != 4 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	d := newDirect(t)
	d.run(blocks[0].Text)
	configuration, err := os.ReadFile(filepath.Join(d.folder, "authentication.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if again := d.run("axle clusters oidc edge-1"); again != string(configuration) {
		t.Errorf("printed again:\n%s\nthe first time:\n%s", again, configuration)
	}
	d.refusesOthers()
	d.api = kube.New(t, kube.ClusterConfig{Authentication: string(configuration), Controllers: true})
	d.admin()
	d.run(blocks[1].Text)
	d.run(blocks[2].Text)
	if text, err := os.ReadFile(filepath.Join(d.folder, "edge-1.yaml")); err != nil || strings.Contains(string(text), d.hub.AdminToken) || strings.Contains(string(text), "client-key-data") {
		t.Errorf("the kubeconfig has a secret: %v\n%s", err, text)
	}

	// Many at once log in once. The API server reads the keys a moment after it is ready.
	many := make([]*started, 5)
	for i := range many {
		many[i] = d.start("n=0; until kubectl --kubeconfig edge-1.yaml get namespaces; do [ -s cache/axle/signin/*.json ] && [ $((++n)) -lt 50 ]; done")
	}
	address := d.said(`https://\S+/oidc/authorize\?\S+`, many...)
	d.allow(address)
	asked := 0
	for _, s := range many {
		if err := <-s.ended; err != nil || !strings.Contains(s.out.String(), "kube-system") {
			t.Errorf("%v %s %s", err, s.out, s.err)
		}
		asked += strings.Count(s.err.String(), "/oidc/authorize")
	}
	if asked != 1 {
		t.Errorf("%d logins were asked for", asked)
	}
	d.shown(d.run(blocks[3].Text + "kubectl --kubeconfig edge-1.yaml auth whoami -o json >whoami.json"))
	d.refreshes()
	d.byDevice()
	d.forgets()
	d.leaves()
}

// refusesOthers: whoever may write another project would decide who gets in, by an application
// of the name that the command takes.
func (d *direct) refusesOthers() {
	d.t.Helper()
	d.run("axle projects create other")
	for name, flags := range map[string]string{
		"foreign":  "--project other --public --bound-groups-only --redirect-uris http://127.0.0.1/callback --groups others",
		"unlike":   "--project default --bound-groups-only --redirect-uris http://127.0.0.1/callback --groups others",
		"unbound":  "--project default --public --redirect-uris http://127.0.0.1/callback --groups others",
		"redirect": "--project default --public --bound-groups-only --redirect-uris http://127.0.0.1/other --groups others",
	} {
		d.run("axle applications apply " + name + " " + flags)
		s := d.start("axle clusters oidc edge-1 --groups shop-admins --application " + name)
		if err := <-s.ended; err == nil || !strings.Contains(s.err.String(), "is another one") {
			d.t.Errorf("%s: %v %s%s", name, err, s.out, s.err)
		}
	}
}

// shown checks what the API server knows of the person, and the file of tokens.
func (d *direct) shown(printed string) {
	d.t.Helper()
	if !strings.Contains(printed, "kube-system") || !strings.Contains(printed, "oidc:"+bob) {
		d.t.Errorf("printed %s", printed)
	}
	var who struct {
		Status struct {
			UserInfo struct {
				Username, UID string
				Groups        []string
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(d.folder, "whoami.json"))
	if err == nil {
		err = json.Unmarshal(text, &who)
	}
	if got := who.Status.UserInfo; err != nil || got.Username != "oidc:"+bob || !slices.Equal(got.Groups, []string{"oidc:shop-admins", "system:authenticated"}) || got.UID == "" {
		d.t.Errorf("the API server knows %+v, %v", who, err)
	}
	path, tokens := d.kept()
	for name, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			d.t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	token, _ := tokens["idToken"].(string)
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		d.t.Fatalf("no token: %v", tokens)
	}
	var claims struct{ Exp, Iat int64 }
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(body, &claims)
	}
	if lives := time.Duration(claims.Exp-claims.Iat) * time.Second; err != nil || lives <= 0 || lives > 10*time.Minute {
		d.t.Errorf("the ID token lives %s, %v", lives, err)
	}
}

// refreshes: at once by many, whose refresh token works once.
func (d *direct) refreshes() {
	d.t.Helper()
	for range 2 {
		_, before := d.kept()
		d.age()
		many := make([]*started, 5)
		for i := range many {
			many[i] = d.start("kubectl --kubeconfig edge-1.yaml get namespaces -o name")
		}
		for _, s := range many {
			if err := <-s.ended; err != nil || !strings.Contains(s.out.String(), "kube-system") || s.err.String() != "" {
				d.t.Errorf("%v %s %s", err, s.out, s.err)
			}
		}
		if _, after := d.kept(); after["refreshToken"] == before["refreshToken"] {
			d.t.Error("the refresh token stayed")
		}
	}
}

var userCode = regexp.MustCompile(`(?m)^  ([A-Z]{4}-[A-Z]{4})$`)

// byDevice logs in on another machine.
func (d *direct) byDevice() {
	d.t.Helper()
	d.run("axle clusters oidc edge-1 --kubeconfig device.yaml --server " + d.api.URL() + " --server-ca " + filepath.Join(d.api.Dir(), "ca.crt") + " --device; rm cache/axle/signin/*.json")
	s := d.start("kubectl --kubeconfig device.yaml get namespaces -o name")
	address := d.said(`https://\S+/oidc/device\S*`, s)
	d.said(userCode.String(), s)
	code := userCode.FindStringSubmatch(s.err.String())[1]
	page := d.get(address + "?user_code=" + code)
	d.answer("/oidc/device/answer", page, url.Values{"answer": {"allow"}})
	if err := <-s.ended; err != nil || !strings.Contains(s.out.String(), "kube-system") {
		d.t.Errorf("%v %s %s", err, s.out, s.err)
	}
}

// plugin is the command of the kubeconfig that kubectl runs.
func (d *direct) plugin() string {
	d.t.Helper()
	config, err := clientcmd.LoadFromFile(filepath.Join(d.folder, "edge-1.yaml"))
	if err != nil {
		d.t.Fatal(err)
	}
	run := config.AuthInfos[config.CurrentContext].Exec
	return run.Command + " " + strings.Join(run.Args, " ")
}

// forgets ends the login: what was kept is of no use to who copied it.
func (d *direct) forgets() {
	d.t.Helper()
	path, tokens := d.kept()
	d.run(d.plugin() + " --forget")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		d.t.Errorf("the tokens are kept: %v", err)
	}
	tokens["expiresAt"] = time.Now()
	text, err := json.Marshal(tokens)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	// Nobody sits there, so that the command ends.
	s := d.start("BROWSER= " + d.plugin())
	if err := <-s.ended; err == nil || !strings.Contains(s.err.String(), "the login has ended") || !strings.Contains(s.err.String(), "nobody can log in here") {
		d.t.Errorf("%v %s %s", err, s.out, s.err)
	}
}

// leaves: whoever is taken out of the group gets no token within 10 s, and is told why.
func (d *direct) leaves() {
	d.t.Helper()
	// A file that nobody can read is replaced by the next login.
	path, _ := d.kept()
	if err := os.WriteFile(path, []byte(`{"idTok`), 0o600); err != nil {
		d.t.Fatal(err)
	}
	s := d.start(d.plugin())
	d.allow(d.said(`https://\S+/oidc/authorize\?\S+`, s))
	if err := <-s.ended; err != nil {
		d.t.Fatalf("%v %s", err, s.err)
	}
	must(d.t)(d.client.Groups.RemoveMember(d.t.Context(), connect.NewRequest(&hubv1.RemoveMemberRequest{Group: "shop-admins", User: bob})))
	removed, last := time.Now(), time.Time{}
	eventually.For(d.t, limit, "the refresh is refused", func() error {
		d.age()
		began := time.Now()
		s := d.start("BROWSER= " + d.plugin())
		if err := <-s.ended; err == nil {
			last = began
			return errors.New("there is a token yet")
		}
		if !strings.Contains(s.err.String(), "the login has ended") {
			return fmt.Errorf("it says %s", s.err)
		}
		return nil
	})
	if last.Sub(removed) > eventually.Loaded(10*time.Second) {
		d.t.Errorf("a refresh %s after the removal was not refused", last.Sub(removed))
	}
	s = d.start(d.plugin())
	page := d.get(d.said(`https://\S+/oidc/authorize\?\S+`, s))
	if !strings.Contains(page, "No access to kubectl on edge-1") || !strings.Contains(page, "Ask "+hubtest.Admin+" for access") {
		d.t.Errorf("the page says %s", page)
	}
}

// TestWrongPrefixesAreRefused: names below them have rights in clusters already.
func TestWrongPrefixesAreRefused(t *testing.T) {
	t.Parallel()
	axle, err := bin.Path(t.Context(), "axle", bin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"", "system:", "System:", "system:masters:", "axle:", "eks:", "gke-security-groups:", "oidc", "o idc:", "axle:cluster:"} {
		ctx, stop := context.WithTimeout(t.Context(), limit)
		text, err := exec.CommandContext(ctx, axle, "clusters", "oidc", "edge-1", "--prefix="+prefix).CombinedOutput()
		stop()
		if err == nil || !strings.Contains(string(text), "--prefix") {
			t.Errorf("%q: %v %s", prefix, err, text)
		}
	}
}
