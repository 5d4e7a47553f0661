package tenancy

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/axle-cd/axle/api/v1alpha1"
)

// Config configures a Tenancy. Manager and Clients are required.
type Config struct {
	Manager manager.Manager
	Clients *Clients
	// AdminNamespaces are the namespaces whose objects act with the operator's token.
	AdminNamespaces []string
	// OwnSecrets are those of the control plane, which no object may name.
	OwnSecrets []types.NamespacedName
	// Discover is the time between two looks for Gateway API's ReferenceGrant while
	// the cluster does not have it; zero is 1 min.
	Discover time.Duration
	// Log is where lines go; nil is slog's default.
	Log *slog.Logger
}

// Tenancy answers for all controllers. It is safe for concurrent use.
type Tenancy struct {
	// cluster reads from the cache, direct from the API server.
	cluster, direct client.Reader
	clients         *Clients
	admins          map[string]bool
	own             map[types.NamespacedName]bool
	discover        time.Duration
	log             *slog.Logger
	metadata        metadata.Interface

	manager manager.Manager
	// gateway is set once the ReferenceGrants of Gateway API are in the cache.
	gateway atomic.Bool
	// recount asks the owner of the watches to compare them with what is needed.
	recount chan struct{}

	mu    sync.Mutex
	hears []func(context.Context, Change)
}

// The indexes of NamespaceCredentials.
const (
	byNamespace = "axle.namespaces"
	bySecret    = "axle.secret"
)

// New returns a Tenancy whose watches run with the manager.
func New(ctx context.Context, c Config) (*Tenancy, error) {
	m := c.Manager
	t := &Tenancy{
		cluster: m.GetClient(), direct: m.GetAPIReader(), clients: c.Clients, admins: map[string]bool{}, own: map[types.NamespacedName]bool{}, discover: c.Discover, log: c.Log,
		manager: m, recount: make(chan struct{}, 1),
	}
	if t.discover == 0 {
		t.discover = time.Minute
	}
	if t.log == nil {
		t.log = slog.Default()
	}
	for _, namespace := range c.AdminNamespaces {
		t.admins[namespace] = true
	}
	for _, secret := range c.OwnSecrets {
		t.own[secret] = true
	}
	var err error
	if t.metadata, err = metadata.NewForConfigAndClient(m.GetConfig(), m.GetHTTPClient()); err != nil {
		return nil, err
	}
	indexer := m.GetFieldIndexer()
	err = errors.Join(
		indexer.IndexField(ctx, &v1alpha1.NamespaceCredentials{}, byNamespace, func(o client.Object) []string { return named(o.(*v1alpha1.NamespaceCredentials)) }),
		indexer.IndexField(ctx, &v1alpha1.NamespaceCredentials{}, bySecret, func(o client.Object) []string {
			ref := o.(*v1alpha1.NamespaceCredentials).Spec.SecretRef
			return []string{ref.Namespace + "/" + ref.Name}
		}),
	)
	if err != nil {
		return nil, err
	}
	return t, t.watch(ctx)
}

// Admin reports whether objects of a namespace act with the operator's own token.
// Cluster-scoped objects, whose namespace is empty, do.
func (t *Tenancy) Admin(namespace string) bool { return namespace == "" || t.admins[namespace] }

// admins are the admin namespaces for people.
func (t *Tenancy) adminNames() string {
	return strings.Join(slices.Sorted(maps.Keys(t.admins)), " or ")
}

// Change is a Secret, a ConfigMap or a grant that changed.
type Change struct {
	// Kind is Secret, ConfigMap or ReferenceGrant.
	Kind            string
	Namespace, Name string
}

// Hear calls f for each change of a Secret or ConfigMap outside of the admin
// namespaces, and of a grant of Gateway API, until the context ends. The other changes
// are those of the manager's cache.
func (t *Tenancy) Hear(ctx context.Context, f func(context.Context, Change)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hears = append(t.hears, func(_ context.Context, c Change) {
		if ctx.Err() == nil {
			f(ctx, c)
		}
	})
}

func (t *Tenancy) tell(ctx context.Context, c Change) {
	t.mu.Lock()
	hears := slices.Clone(t.hears)
	t.mu.Unlock()
	for _, f := range hears {
		f(ctx, c)
	}
}

// Requests are the reconciles of names, for a queue.
func Requests(names ...client.ObjectKey) []reconcile.Request {
	var out []reconcile.Request
	for _, name := range names {
		out = append(out, reconcile.Request{NamespacedName: name})
	}
	return out
}
