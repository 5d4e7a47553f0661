package apply_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/test/kube"
)

// The agent's user, and the other users of the bed.
const (
	agentUser = "agent-under-test"
	clusterID = "c-1"
)

// bed is one API server with an engine on it.
type bed struct {
	t       *testing.T
	cluster *kube.Cluster
	admin   kubernetes.Interface
	dynamic dynamic.Interface
	engine  *apply.Engine
	live    *oracle
	// gates stand before the API server as each engine reaches it.
	gates map[*apply.Engine]*tenancy.Gate
}

// newBed starts an engine on the shared API server. The inventories of all
// tests share one namespace; service ids are unique.
func newBed(t *testing.T, change func(*apply.Config)) *bed {
	t.Helper()
	return bedOn(t, kube.Shared(t), change)
}

func bedOn(t *testing.T, cluster *kube.Cluster, change func(*apply.Config)) *bed {
	t.Helper()
	b := &bed{t: t, cluster: cluster, gates: map[*apply.Engine]*tenancy.Gate{}}
	var err error
	if b.admin, err = kubernetes.NewForConfig(cluster.Config()); err != nil {
		t.Fatal(err)
	}
	if b.dynamic, err = dynamic.NewForConfig(cluster.Config()); err != nil {
		t.Fatal(err)
	}
	b.makeNamespace("axle-system")
	b.live = newOracle(t, cluster)
	b.engine = b.restart(change)
	return b
}

// restart is a new agent on the same cluster: it knows only what the cluster holds.
func (b *bed) restart(change func(*apply.Config)) *apply.Engine {
	b.t.Helper()
	rest, err := b.cluster.ConfigFor(agentUser, "system:masters")
	if err != nil {
		b.t.Fatal(err)
	}
	cfg := apply.Config{REST: rest, ClusterID: clusterID, Live: b.live}
	if change != nil {
		change(&cfg)
	}
	engine, err := apply.New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := engine.Load(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	b.gates[engine] = tenancy.New(cfg.REST, "axle-system")
	return engine
}

// permit is a permit without limits.
func (b *bed) permit(engine *apply.Engine, service apply.Service) tenancy.Permit {
	b.t.Helper()
	permit, err := b.gates[engine].Permit(tenancy.Request{Service: service.ID, Namespace: service.Namespace})
	if err != nil {
		b.t.Fatal(err)
	}
	return permit
}

func (b *bed) makeNamespace(name string) {
	b.t.Helper()
	_, _ = b.admin.CoreV1().Namespaces().Create(b.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
}

// pass runs one pass that must not fail as a whole.
func (b *bed) pass(service apply.Service, docs ...string) apply.Result {
	b.t.Helper()
	result, err := b.engine.Pass(b.t.Context(), b.permit(b.engine, service), service, objects(b.t, docs...))
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// requests are the agent's requests since the mark, without watches.
func (b *bed) requests(mark int64) kube.AuditEvents {
	b.t.Helper()
	events, err := b.cluster.AuditSince(mark)
	if err != nil {
		b.t.Fatal(err)
	}
	var all kube.AuditEvents
	for _, e := range events.ByUser(agentUser).Requests() {
		if e.Verb != "watch" {
			all = append(all, e)
		}
	}
	return all
}

func (b *bed) mark() int64 {
	b.t.Helper()
	mark, err := b.cluster.AuditMark()
	if err != nil {
		b.t.Fatal(err)
	}
	return mark
}

func (b *bed) configMap(namespace, name string) (*corev1.ConfigMap, error) {
	return b.admin.CoreV1().ConfigMaps(namespace).Get(b.t.Context(), name, metav1.GetOptions{})
}

var services atomic.Int64

// newService returns a service with its own id and namespace.
func newService(digest string) apply.Service {
	id := fmt.Sprintf("svc-%d", services.Add(1))
	return apply.Service{ID: id, Name: id, Namespace: "ns-" + id, TarballDigest: digest, SpecDigest: "s1", CreateNamespace: true, RequireOwnership: true}
}

// objects reads YAML documents.
func objects(t *testing.T, docs ...string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, doc := range docs {
		for one := range strings.SplitSeq(doc, "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(one), &o.Object); err != nil {
				t.Fatalf("%v in\n%s", err, one)
			}
			all = append(all, o)
		}
	}
	return all
}

func configMap(name, value string, extra ...string) string {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
	for _, e := range extra {
		text += "  " + e + "\n"
	}
	return text + "data:\n  key: " + value + "\n"
}

// oracle is a Live that asks the API server as another user, so that its answers are
// always true and none of its requests count.
type oracle struct {
	client metadata.Interface
	ctx    context.Context
}

func newOracle(t *testing.T, cluster *kube.Cluster) *oracle {
	client, err := metadata.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return &oracle{client: client, ctx: t.Context()}
}

func (o *oracle) Watch([]kubeobj.Kind)                         {}
func (o *oracle) Wait(context.Context, []kubeobj.Kind)         {}
func (o *oracle) Note(kubeobj.Kind, kubeobj.Ref, kubeobj.Live) {}
func (o *oracle) Recheck([]kubeobj.Ref)                        {}

func (o *oracle) Lookup(kind kubeobj.Kind, ref kubeobj.Ref) (live kubeobj.Live, found, synced bool) {
	var getter metadata.ResourceInterface = o.client.Resource(kind.GVR())
	if kind.Namespaced {
		getter = o.client.Resource(kind.GVR()).Namespace(ref.Namespace)
	}
	object, err := getter.Get(o.ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return kubeobj.Live{}, false, true
	}
	live = kubeobj.Reduce(ref, object)
	return live, live.Cluster == clusterID, true
}
