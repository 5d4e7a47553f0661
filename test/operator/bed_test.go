package operator_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/deploy"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/operator"
	"github.com/axle-cd/axle/operator/controller"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/kube"
)

const limit = 30 * time.Second

func TestMain(m *testing.M) {
	hubtest.Main(kube.KeepShared(m)) // with the CRDs
}

// bed is an API server, a hub, and what a test does with them.
type bed struct {
	*testing.T
	client.Client
	cluster    *kube.Cluster
	kubeconfig string
	hub        *hubtest.Hub
	gate       *gate
	people     *sdk.Client
	git        *gitserver.Server
	// namespace is an admin namespace, foreign is none.
	namespace, foreign string
	tokenFile          string
	// dropped is how many objects operators of this process had not handled when they
	// ended.
	dropped float64
}

// installed is true once the shared API server has the CRDs. No test is parallel.
var installed bool

func newBed(t *testing.T) *bed {
	t.Helper()
	return newBedOf(t, hubtest.HubConfig{})
}

// newBedOf is newBed with a hub of another configuration.
func newBedOf(t *testing.T, of hubtest.HubConfig) *bed {
	t.Helper()
	cluster := kube.Shared(t)
	config := cluster.Config()
	config.QPS, config.Burst = 200, 400
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme, axlev1alpha1.AddToScheme} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: known})
	if err != nil {
		t.Fatal(err)
	}
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := git.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bed{T: t, Client: c, cluster: cluster, git: git, namespace: cluster.Namespace(t), foreign: cluster.Namespace(t)}
	b.kubeconfig, err = cluster.KubeconfigFor("system:serviceaccount:" + b.namespace + ":axle-operator")
	if err != nil {
		t.Fatal(err)
	}
	rights, err := os.ReadFile("../../deploy/operator/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b.apply(strings.ReplaceAll(string(rights), "axle-system", b.namespace))
	of.AllowHTTPUpstreams = true
	b.hub = hubtest.New(t, hubtest.Config{Hub: of})
	b.gate = newGate(t, b.hub.URL)
	b.people, err = sdk.New(sdk.Config{URL: b.hub.URL, Token: b.hub.AdminToken})
	if err != nil {
		t.Fatal(err)
	}
	b.tokenFile = filepath.Join(t.TempDir(), "token")
	b.token(b.hub.AdminToken)
	if !installed {
		b.install()
		installed = true
	}
	t.Cleanup(b.clean)
	return b
}

func (b *bed) token(text string) {
	b.Helper()
	if err := os.WriteFile(b.tokenFile, []byte(text+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
}

// install applies the CRDs.
func (b *bed) install() {
	b.Helper()
	names, err := fs.Glob(deploy.CRDs, "crds/*.yaml")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		text, err := deploy.CRDs.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		b.apply(string(text))
	}
	// All at once: the API server lets the first who lists a kind come again a second later.
	eventually.For(b, limit, "the CRDs are served", func() error {
		group, ctx := errgroup.WithContext(b.Context())
		for _, list := range lists() {
			group.Go(func() error { return b.List(ctx, list) })
		}
		return group.Wait()
	})
}

func lists() []client.ObjectList {
	return []client.ObjectList{
		&v1alpha1.ServiceDeploymentList{}, &v1alpha1.GlobalServiceList{}, &v1alpha1.ManagedNamespaceList{}, &v1alpha1.GeneratedSecretList{}, &v1alpha1.ClusterSyncList{}, &v1alpha1.ServiceContextList{}, &v1alpha1.GitRepositoryList{}, &v1alpha1.HelmRepositoryList{}, &v1alpha1.GroupList{}, &v1alpha1.ServiceAccountList{}, &v1alpha1.FederatedCredentialList{}, &v1alpha1.OIDCProviderList{}, &v1alpha1.ClusterList{}, &v1alpha1.ProviderList{}, &v1alpha1.ProjectList{}, &v1alpha1.ScmConnectionList{}, &v1alpha1.DeploymentSettingsList{},
		&v1alpha1.NamespaceCredentialsList{}, &axlev1alpha1.ApplicationList{}, &axlev1alpha1.ReferenceGrantList{}, &axlev1alpha1.AccessBindingList{}, &axlev1alpha1.AdminGrantList{}, &axlev1alpha1.FederationTrustList{}, &axlev1alpha1.GroupMembershipList{}, &axlev1alpha1.HubSettingsList{}, &axlev1alpha1.LoginProviderList{}, &axlev1alpha1.OutputsList{}, &axlev1alpha1.ProjectLimitsList{}, &axlev1alpha1.RepositoryList{}, &axlev1alpha1.UserList{}, &axlev1alpha1.WebhookList{}, &axlev1alpha1.AgentUpgradeList{}, &axlev1alpha1.RegistrationTokenList{}, &axlev1alpha1.ClusterRegistrationList{}, &v1alpha1.BootstrapTokenList{},
	}
}

// clean removes all objects, so that the next test's operator finds none.
func (b *bed) clean() {
	ctx := context.WithoutCancel(b.Context())
	for _, list := range lists() {
		if err := b.List(ctx, list); err != nil {
			b.Error(err)
		}
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			object := o.(client.Object)
			if len(object.GetFinalizers()) > 0 {
				object.SetFinalizers(nil)
				if err := b.Update(ctx, object); err != nil && !apierrors.IsNotFound(err) {
					b.Error(err)
				}
			}
			if err := b.Delete(ctx, object); err != nil && !apierrors.IsNotFound(err) {
				b.Error(err)
			}
			return nil
		})
	}
}

// apply applies YAML documents, as kubectl apply --server-side does.
func (b *bed) apply(text string) {
	b.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			b.Fatal(err)
		}
		err := b.Client.Apply(b.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership)
		if err != nil {
			b.Fatalf("apply %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// try applies one document, and returns the API server's error.
func (b *bed) try(text string) error {
	b.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		b.Fatal(err)
	}
	return b.Client.Apply(b.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"), client.ForceOwnership)
}

// quick are the times of the tests; drift checks are far away.
var quick = controller.Timing{
	Drift: time.Hour, Least: 10 * time.Millisecond, Missing: 200 * time.Millisecond, Pending: time.Hour,
	Discover: 100 * time.Millisecond, Retry: 50 * time.Millisecond, RetryMax: 500 * time.Millisecond,
}

// operate runs an operator until stop is called or the test ends.
func (b *bed) operate() (stop func()) {
	b.Helper()
	return b.operateWith(operator.Config{TokenFile: b.tokenFile})
}

// operateWith is operate with another token.
func (b *bed) operateWith(c operator.Config) (stop func()) {
	b.Helper()
	c.HubURL, c.Kubeconfig, c.Namespace, c.LeaderElect = b.gate.URL, b.kubeconfig, b.namespace, true
	if c.Timing == (controller.Timing{}) {
		c.Timing = quick
	}
	c.Log = slog.New(slog.NewTextHandler(b.Output(), nil))
	b.dropped = b.queued()
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan error, 1)
	go func() {
		ended <- operator.Run(ctx, c)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("the operator ended: %v", err)
		}
		b.dropped = b.queued()
	})
	b.Cleanup(stop)
	return stop
}

// want waits until a condition of an object has a status and a reason, and its
// message contains a text.
func (b *bed) want(object client.Object, condition, status, reason, text string) {
	b.Helper()
	kind := kindOf(object)
	eventually.For(b, limit, fmt.Sprintf("%s %s has %s %s/%s", kind, object.GetName(), condition, status, reason), func() error {
		if err := b.Get(b.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		common := statusOf(object)
		c := meta.FindStatusCondition(common.Conditions, condition)
		if c == nil || string(c.Status) != status || c.Reason != reason || !strings.Contains(c.Message, text) || common.ObservedGeneration != object.GetGeneration() {
			return fmt.Errorf("generation %d, status %+v", object.GetGeneration(), common)
		}
		return nil
	})
}

func (b *bed) synchronized(object client.Object) {
	b.Helper()
	b.want(object, "Synchronized", "True", "Synchronized", "")
}

func kindOf(object client.Object) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1alpha1.")
}

func statusOf(object client.Object) *v1alpha1.Status {
	switch o := object.(type) {
	case *v1alpha1.Project:
		return &o.Status
	case *v1alpha1.DeploymentSettings:
		return &o.Status
	case *v1alpha1.ScmConnection:
		return &o.Status
	case *v1alpha1.Provider:
		return &o.Status
	case *v1alpha1.ServiceContext:
		return &o.Status
	case *v1alpha1.GitRepository:
		return &o.Status.Status
	case *v1alpha1.OIDCProvider:
		return &o.Status
	case *v1alpha1.FederatedCredential:
		return &o.Status
	case *v1alpha1.ServiceAccount:
		return &o.Status
	case *v1alpha1.Group:
		return &o.Status
	case *v1alpha1.HelmRepository:
		return &o.Status.Status
	case *v1alpha1.Cluster:
		return &o.Status.Status
	case *v1alpha1.ServiceDeployment:
		return &o.Status.Status
	case *v1alpha1.NamespaceCredentials:
		return &o.Status.Status
	case *axlev1alpha1.ReferenceGrant:
		return &o.Status
	case *axlev1alpha1.AccessBinding:
		return &o.Status
	case *axlev1alpha1.AdminGrant:
		return &o.Status
	case *axlev1alpha1.FederationTrust:
		return &o.Status
	case *axlev1alpha1.GroupMembership:
		return &o.Status
	case *axlev1alpha1.HubSettings:
		return &o.Status
	case *axlev1alpha1.LoginProvider:
		return &o.Status.Status
	case *axlev1alpha1.Outputs:
		return &o.Status
	case *axlev1alpha1.ProjectLimits:
		return &o.Status
	case *axlev1alpha1.Repository:
		return &o.Status.Status
	case *axlev1alpha1.User:
		return &o.Status
	case *axlev1alpha1.AgentUpgrade:
		return &o.Status.Status
	case *axlev1alpha1.Webhook:
		return &o.Status.Status
	case *axlev1alpha1.ClusterRegistration:
		return &o.Status.Status
	case *axlev1alpha1.RegistrationToken:
		return &o.Status.Status
	case *v1alpha1.BootstrapToken:
		return &o.Status
	case *v1alpha1.GlobalService:
		return &o.Status.Status
	case *v1alpha1.NotificationSink:
		return &o.Status
	case *v1alpha1.NotificationRouter:
		return &o.Status
	case *v1alpha1.ManagedNamespace:
		return &o.Status.Status
	case *v1alpha1.GeneratedSecret:
		return &o.Status.Status
	case *v1alpha1.ClusterSync:
		return &o.Status
	case interface {
		Shared() (*v1alpha1.Status, *v1alpha1.Reconciliation)
	}:
		status, _ := o.Shared()
		return status
	}
	panic(fmt.Sprintf("%T has no status", object))
}

// deleted deletes an object and waits until it is gone.
func (b *bed) deleted(object client.Object) {
	b.Helper()
	if err := b.Delete(b.Context(), object); err != nil {
		b.Fatal(err)
	}
	b.gone(object)
}

func (b *bed) gone(object client.Object) {
	b.Helper()
	eventually.For(b, limit, object.GetName()+" is gone", func() error {
		err := b.Get(b.Context(), client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("still there: %v, %+v", err, statusOf(object))
	})
}

// touch changes an annotation, which declares nothing to the hub.
func (b *bed) touch(object client.Object) {
	b.Helper()
	if err := b.Get(b.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		b.Fatal(err)
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["example.com/touched"] = time.Now().Format(time.RFC3339Nano)
	object.SetAnnotations(annotations)
	if err := b.Update(b.Context(), object); err != nil {
		b.Fatal(err)
	}
}

func meta1(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace}
}

// gate is a proxy of the hub that counts calls, and fails on request.
type gate struct {
	*httptest.Server
	target atomic.Pointer[url.URL]
	mu     sync.Mutex
	calls  []string
	down   bool
	// before is called before a call is passed on.
	before func(call, token string)
	// after is called when the hub answered the named call, before the operator
	// gets the answer.
	after map[string]func()
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	at, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{after: map[string]func(){}}
	g.target.Store(at)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(g.target.Load()) }}
	proxy.ModifyResponse = func(r *http.Response) error {
		g.mu.Lock()
		after := g.after[name(r.Request.URL.Path)]
		g.mu.Unlock()
		if after != nil {
			after()
		}
		return nil
	}
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		down, before := g.down, g.before
		g.calls = append(g.calls, name(r.URL.Path))
		g.mu.Unlock()
		if down {
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		}
		if before != nil {
			before(name(r.URL.Path), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// name is Service/Method of the path of a call.
func name(path string) string { return strings.TrimPrefix(path, "/axle.hub.v1.") }

func (g *gate) setDown(down bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = down
}

func (g *gate) setBefore(f func(call, token string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.before = f
}

func (g *gate) setAfter(call string, f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.after[call] = f
}

// since returns the calls after the first n.
func (g *gate) since(n int) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.calls[n:])
}

// count counts the calls so far: those with a name, or all.
func (g *gate) count(names ...string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(names) == 0 {
		return len(g.calls)
	}
	n := 0
	for _, call := range g.calls {
		if slices.Contains(names, call) {
			n++
		}
	}
	return n
}

func key(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

func request[Q any](q *Q) *connect.Request[Q] { return connect.NewRequest(q) }
