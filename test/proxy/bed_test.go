package proxy_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/tunnel/authproxy"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/seal"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/kube"
)

const limit = 90 * time.Second

// cluster is the one API server of this package's tests, with the process
// kubelet and an audit log.
var cluster = sync.OnceValues(func() (*kube.Cluster, error) {
	page, err := bin.Path(context.Background(), "page", bin.Options{Package: "./test/proxy/testdata/page"})
	if err != nil {
		return nil, err
	}
	c, err := kube.Lease(context.Background(), kube.ClusterConfig{Audit: true, Binaries: map[string]string{"sh": "/bin/sh", "page": page}})
	if err != nil {
		return nil, err
	}
	return c, letAdministrate(context.Background(), c)
})

// letAdministrate gives administrators of the hub what the agent's manifests give them.
func letAdministrate(ctx context.Context, c *kube.Cluster) error {
	api, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	_, err = api.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "axle-admins"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "axle:admins"}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	// The API server knows a binding a moment after it has it.
	return eventually.Wait(ctx, limit, func() error {
		all := &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}
		review, err := api.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: "admin@example.com", Groups: []string{"axle:admins"}, ResourceAttributes: all},
		}, metav1.CreateOptions{})
		if err == nil && !review.Status.Allowed {
			err = fmt.Errorf("administrators are denied: %s", review.Status.Reason)
		}
		return err
	})
}

// letRead gives in a namespace what the agent's manifests give in all: the rules of view to
// who may read the cluster.
func letRead(t *testing.T, c *kube.Cluster, namespace string) {
	t.Helper()
	api, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:aggregate-to-view"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: authproxy.ReadGroup}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	as := c.Config()
	as.Impersonate = rest.ImpersonationConfig{UserName: "reader", Groups: []string{authproxy.ReadGroup}}
	reader, err := kubernetes.NewForConfig(as)
	if err != nil {
		t.Fatal(err)
	}
	eventually.For(t, limit, "the binding of readers", func() error {
		_, err := reader.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
		return err
	})
}

// bed is a hub's half and an agent's half of the proxy before a real API
// server.
type bed struct {
	t       *testing.T
	kube    *kube.Cluster
	proxy   *authproxy.Proxy
	server  *httptest.Server
	people  *people
	records *records
	nonces  sync.Map
}

// people are those whom the bed's hub knows, by bearer.
type people struct {
	mu sync.Mutex
	by map[string]identity.Principal
}

func (p *people) Authenticate(_ context.Context, bearer string) (identity.Principal, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if who, ok := p.by[bearer]; ok {
		return who, nil
	}
	return identity.Principal{}, errcode.New(errcode.Unauthorized, "unknown")
}

func (p *people) Caller(_ context.Context, tokenID string) (identity.Principal, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, who := range p.by {
		if who.TokenID == tokenID {
			return who, nil
		}
	}
	return identity.Principal{}, errcode.New(errcode.Unauthorized, "unknown")
}

func (p *people) Authorize(_ context.Context, who identity.Principal, action identity.Action, _ identity.Scope) error {
	if who.Name == "stranger@example.com" || action != identity.ActionRead {
		return errcode.New(errcode.Forbidden, "no binding")
	}
	return nil
}

func (p *people) revoke(bearer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.by, bearer)
}

// records keep the audit records.
type records struct {
	mu     sync.Mutex
	all    []audit.Record
	broken bool
}

func (r *records) Add(_ context.Context, record audit.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, record)
}

func (r *records) AddNow(ctx context.Context, record audit.Record) error {
	r.mu.Lock()
	broken := r.broken
	r.mu.Unlock()
	if broken {
		return errcode.New(errcode.Unavailable, "the disk is full")
	}
	r.Add(ctx, record)
	return nil
}

func (r *records) where(keep func(audit.Record) bool) (kept []audit.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, record := range r.all {
		if keep(record) {
			kept = append(kept, record)
		}
	}
	return kept
}

const (
	adminToken    = "axle_admin"
	aliceToken    = "axle_alice"
	readerToken   = "axle_reader"
	strangerToken = "axle_stranger"
)

// edge is the only cluster of a bed's hub.
var edge = authproxy.Cluster{ID: "cls_1", Name: "edge", Handle: "edge", Project: "prj_1"}

type options struct {
	policy agentPolicy
	// services are those that make clusters in this one.
	services []*agentv1.ServiceSpec
	origin   string
	open     bool
	clock    clock.Clock
	// streams takes each stream that is opened; nil leaves them alone.
	streams func(ctx context.Context, head *agentv1.StreamHead, open func() hubEnd) authproxy.Stream
	// requests are the places for streams; nil has as many as there are.
	requests *pool.Places
}

// hasty shortens the seconds that somebody waits.
type hasty struct{ clock.Real }

func (hasty) After(d time.Duration) <-chan time.Time { return time.After(d / 30) }

func newBed(t *testing.T, o options) *bed {
	t.Helper()
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, kube: c, records: &records{}, people: &people{by: map[string]identity.Principal{}}}
	all := []string{identity.ScopeRead, identity.ScopeWrite, identity.ScopeAdmin}
	b.people.by[adminToken] = identity.Principal{Kind: identity.KindUser, ID: "usr_1", Name: "admin@example.com", Admin: true, Scopes: all, TokenID: "tok_admin"}
	b.people.by[aliceToken] = identity.Principal{Kind: identity.KindUser, ID: "usr_2", Name: "alice@example.com", Groups: []string{"dev"}, Scopes: all, TokenID: "tok_alice"}
	b.people.by[readerToken] = identity.Principal{Kind: identity.KindUser, ID: "usr_1", Name: "admin@example.com", Admin: true, Scopes: all[:1], TokenID: "tok_reader"}
	b.people.by[strangerToken] = identity.Principal{Kind: identity.KindUser, ID: "usr_3", Name: "stranger@example.com", Scopes: all, TokenID: "tok_stranger"}
	agent, err := newAgentHalf(c.Config(), o.policy, o.services)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(agent.Close)
	b.proxy, err = authproxy.New(authproxy.Config{
		Open: func(ctx context.Context, _ string, head *agentv1.StreamHead) (authproxy.Stream, error) {
			open := func() hubEnd {
				return newPair(ctx, head, func(ctx context.Context, s agentEnd) { agent.Serve(ctx, s) })
			}
			if o.requests != nil {
				held, err := o.requests.Take(pool.Caller{Name: head.GetIdentity().GetUser()})
				if err != nil {
					return nil, err
				}
				context.AfterFunc(ctx, held.Leave)
			}
			if o.streams != nil {
				return o.streams(ctx, head, open), nil
			}
			return open(), nil
		},
		Identity: b.people, Audit: b.records, Sealer: newSealer(t), UseNonce: b.useNonce, Origin: o.origin, FailOpen: o.open, Clock: o.clock,
		Cluster: func(_ context.Context, handle string) (authproxy.Cluster, error) {
			if handle != "edge" {
				return authproxy.Cluster{}, errcode.New(errcode.NotFound, "no cluster %s", handle)
			}
			return edge, nil
		},
		Now: func(string) (authproxy.Cluster, bool) { return edge, true },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.proxy.Run(ctx) }()
	b.server = httptest.NewUnstartedServer(b.proxy)
	b.server.EnableHTTP2 = true
	b.server.Config.MaxHeaderBytes = 1 << 20
	b.server.StartTLS()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		b.server.CloseClientConnections()
		b.server.Close()
	})
	return b
}

func newSealer(t *testing.T) *seal.Sealer {
	t.Helper()
	s, err := seal.OpenFile(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (b *bed) useNonce(_ context.Context, nonce []byte, _, _ int64) error {
	if _, used := b.nonces.LoadOrStore(string(nonce), true); used {
		return errcode.New(errcode.Conflict, "used")
	}
	return nil
}

// must is for what a test prepares.
func (b *bed) must(_ any, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// url is the cluster's API through the hub.
func (b *bed) url() string { return b.server.URL + "/k8s/clusters/edge" }

func (b *bed) caPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.server.Certificate().Raw})
}

// rest is a client's configuration through the hub.
func (b *bed) rest(token string) *rest.Config {
	return &rest.Config{Host: b.url(), BearerToken: token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: b.caPEM()}}
}

// direct is the API server's administrator, without any proxy.
func (b *bed) direct() kubernetes.Interface {
	b.t.Helper()
	return b.client(b.kube.Config())
}

func (b *bed) client(c *rest.Config) kubernetes.Interface {
	b.t.Helper()
	api, err := kubernetes.NewForConfig(c)
	if err != nil {
		b.t.Fatal(err)
	}
	return api
}

// kubeconfig writes a kubeconfig through the hub.
func (b *bed) kubeconfig(token string) string {
	b.t.Helper()
	dir := b.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), b.caPEM(), 0o600); err != nil {
		b.t.Fatal(err)
	}
	path := filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: edge
clusters: [{name: edge, cluster: {server: %q, certificate-authority: ca.pem}}]
users: [{name: edge, user: {token: %q}}]
contexts: [{name: edge, context: {cluster: edge, user: edge}}]
`, b.url(), token)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// kubectl makes a command with a bound.
func (b *bed) kubectl(kubeconfig string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(b.t.Context(), "kubectl", append([]string{"--kubeconfig", kubeconfig, "--cache-dir", filepath.Join(filepath.Dir(kubeconfig), "cache")}, args...)...)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// pod starts a shell as a pod and waits until it runs.
func (b *bed) pod(namespace, name, script string) {
	b.t.Helper()
	b.start(namespace, name, corev1.Container{Name: "main", Image: kube.ImagePrefix + "sh:1", Args: []string{"-c", script}, Stdin: true})
}

// page starts a pod that serves a page on port 8080.
func (b *bed) page(namespace, name, text string) {
	b.t.Helper()
	b.start(namespace, name, corev1.Container{
		Name: "main", Image: kube.ImagePrefix + "page:1", Args: []string{"-listen=$(POD_IP):8080", "-text=" + text},
		Env: []corev1.EnvVar{{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}},
	})
	// A forward without a listener ends for good.
	eventually.For(b.t, limit, "the page", func() error {
		text, err := b.direct().CoreV1().Pods(namespace).GetLogs(name, &corev1.PodLogOptions{}).DoRaw(b.t.Context())
		if err == nil && !strings.Contains(string(text), "listening") {
			err = fmt.Errorf("it says %s", text)
		}
		return err
	})
}

func (b *bed) start(namespace, name string, container corev1.Container) {
	b.t.Helper()
	api := b.direct()
	none := false
	_, err := api.CoreV1().Pods(namespace).Create(b.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: &none,
			Containers:                   []corev1.Container{container},
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		b.t.Fatal(err)
	}
	eventually.For(b.t, limit, "pod "+name, func() error {
		pod, err := api.CoreV1().Pods(namespace).Get(b.t.Context(), name, metav1.GetOptions{})
		if err == nil && pod.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("status %+v", pod.Status)
		}
		return err
	})
}

// httpClient trusts the hub.
func (b *bed) httpClient(protocols ...string) *http.Client {
	t := b.server.Client().Transport.(*http.Transport).Clone()
	t.TLSClientConfig.NextProtos = protocols
	t.ForceAttemptHTTP2 = len(protocols) == 0 || protocols[0] == "h2"
	if !t.ForceAttemptHTTP2 {
		t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	b.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// get asks for a path of the cluster and returns status, headers and body.
func (b *bed) get(token, path string) (*http.Response, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url()+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := b.httpClient().Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	var body strings.Builder
	if _, err := fmt.Fprint(&body, readAll(response.Body)); err != nil {
		b.t.Fatal(err)
	}
	return response, body.String()
}
