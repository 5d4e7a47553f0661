package attack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/chartserver"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/oidcserver"
	"github.com/axle-cd/axle/test/world"
)

// edge is the cluster of the bed that has an agent.
const edge = "edge"

// Servers are what the bed has beside the hub.
type Servers struct {
	world   *world.World
	cluster *kube.Cluster
	front   *front
	// operator is the process of axle-operator.
	operator *exec.Cmd
}

// Start starts a hub, and a cluster with an agent and an operator if the attacks need them.
// It reports what it does by progress; Close ends it.
func Start(ctx context.Context, attacks []Attack, progress func(format string, args ...any)) (t *Target, err error) {
	config := world.Config{Hub: []string{"--repo-poll-interval", "2s"}, Only: []string{"axle-hub"}, Progress: progress}
	var needs Needs
	for _, a := range attacks {
		needs = max(needs, a.Needs)
	}
	if needs >= Cluster {
		config.Clusters, config.Only, config.Shells = []string{edge}, nil, true
	}
	backends, err := declareBackend()
	if err != nil {
		return nil, err
	}
	defer os.Remove(backends)
	config.Hub = append(config.Hub, "--config-backends", backends)
	progress("starting a hub, %d API servers", len(config.Clusters))
	w, err := world.Start(ctx, config)
	if err != nil {
		return nil, err
	}
	t = &Target{URL: w.Hub.URL, Client: client(), Run: rand.Text()[:5], Bed: &Servers{world: w, cluster: w.Cluster(edge)}}
	err = errors.Join(t.setUp(ctx), t.connect(ctx))
	if err == nil && needs == Operator {
		progress("starting an operator")
		err = t.operate(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Somebodys is somebody's hub, by the token of an administrator.
func Somebodys(hub, token string) *Target {
	return &Target{URL: strings.TrimSuffix(hub, "/"), Token: token, Client: client(), Run: rand.Text()[:5]}
}

// client follows no redirect: where one leads is what an attack asks.
func client() *http.Client {
	return &http.Client{Timeout: limit, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Close ends the bed.
func (t *Target) Close() error {
	if t.Bed == nil {
		return nil
	}
	var err error
	if t.Bed.operator != nil {
		err = child.Kill(t.Bed.operator)
		_ = t.Bed.operator.Wait() // it was killed
	}
	err = errors.Join(err, t.Bed.world.Close())
	if t.Bed.front != nil {
		t.Bed.front.server.CloseClientConnections()
		t.Bed.front.server.Close()
	}
	return err
}

// setUp makes the first administrator.
func (t *Target) setUp(ctx context.Context) error {
	secret, err := os.ReadFile(t.Bed.world.Hub.SetupTokenFile())
	if err != nil {
		return err
	}
	p := &Play{Target: &Target{URL: t.URL, Client: t.Client, Token: strings.TrimSpace(string(secret))}, ctx: ctx}
	made := p.admin().call("Sessions/Setup", `{"setupToken": %q, "email": "admin@example.com"}`, p.Token)
	if t.Token = made.field("secret"); t.Token == "" {
		return fmt.Errorf("set up the hub: %d: %s", made.status, made.text)
	}
	return nil
}

// connect connects the cluster, whose agent reaches its API server through the front.
func (t *Target) connect(ctx context.Context) error {
	if t.Bed.cluster == nil {
		return nil
	}
	f, err := newFront(t.Bed.cluster.Config())
	if err != nil {
		return err
	}
	t.Bed.front = f
	p := &Play{Target: t, ctx: ctx}
	made := p.admin().call("Clusters/Create", `{"name": %q}`, edge)
	if !made.ok() {
		return fmt.Errorf("create a cluster: %d: %s", made.status, made.text)
	}
	agent, err := t.Bed.world.NewAgent(edge, world.AgentOptions{KubeURL: f.server.URL, Token: made.field("bootstrapToken"), Flags: []string{"--metrics-listen", "off"}})
	if err == nil {
		err = agent.Start()
	}
	if err != nil {
		return err
	}
	if err := t.Bed.apply(ctx, admins); err != nil {
		return err
	}
	return eventually.Wait(ctx, 2*time.Minute, func() error {
		if a := p.admin().send(ctx, http.MethodGet, api("/version"), "", nil); !a.ok() {
			return fmt.Errorf("the cluster's API through the hub: %d: %s; the agent's log ends with %s", a.status, a.text, agent.Tail())
		}
		return nil
	})
}

// admins is what the manifests of an agent bind.
const admins = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: axle-admins},
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "axle:admins"}]}`

// api is a path of the API server through the hub.
func api(path string) string { return "/k8s/clusters/" + edge + path }

// apply applies a manifest as the cluster's administrator.
func (s *Servers) apply(ctx context.Context, manifest string) error {
	file, err := os.CreateTemp(s.world.Dir, "manifest-*.yaml")
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, "---\n"+manifest) // YAML, although it begins with a brace
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	_, err = s.world.Kubectl(ctx, edge, "apply", "-f", file.Name())
	return err
}

// front stands between the agent and its API server, notes what comes to it, and can send
// people elsewhere, as an API server that was taken over does.
type front struct {
	server *httptest.Server

	mu   sync.Mutex
	seen []string
	away map[string]string
}

func newFront(config *rest.Config) (*front, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	f := &front{away: map[string]string{}}
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.seen = append(f.seen, r.URL.Path)
		to := f.away[r.URL.Path]
		f.mu.Unlock()
		if to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	return f, nil
}

// saw reports whether a request for a path came to the API server.
func (f *front) saw(path string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, seen := range f.seen {
		if seen == path {
			return true
		}
	}
	return false
}

// sendAway answers requests for a path with a redirect.
func (f *front) sendAway(path, to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away[path] = to
}

// charts starts a chart repository with one version of the chart web.
func (p *Play) charts(version string) *chartserver.Server {
	s := chartserver.Start(false)
	p.ended(s.Close)
	publish(s, version)
	return s
}

func publish(s *chartserver.Server, version string) {
	s.Publish(chartserver.Chart{Name: "web", Version: version, Files: map[string]string{"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"}})
}

// provider starts an OpenID Connect provider that the hub trusts.
func (p *Play) provider(terms string, users ...oidcserver.User) *oidcserver.Server {
	s, err := oidcserver.Start(io.Discard, users...)
	if err != nil {
		p.fail("%w", err)
	}
	p.ended(s.Close)
	s.SetClient(oidcserver.Client{ID: "axle", Secret: "hush", Redirects: []string{p.URL + "/login/callback/" + p.my("idp")}})
	p.admin().must("Providers/Create", `{"provider": {"name": "<<idp>>", "issuer": %q, "clientId": "axle"%s}, "clientSecret": "hush"}`, s.URL, terms)
	return s
}

// apply applies a manifest as the cluster's administrator.
func (p *Play) apply(manifest string) {
	if err := p.Bed.apply(p.ctx, p.fill(manifest)); err != nil {
		p.fail("%w", err)
	}
}
