package drift_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/drift"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/test/kube"
)

var configMaps = kubeobj.Kind{Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Namespaced: true}

// owner expects some objects and notes which ones it is asked to heal.
type owner struct {
	mu     sync.Mutex
	want   map[kubeobj.Ref]kubeobj.Expected
	healed map[kubeobj.Ref]int
}

func (o *owner) Expected(ref kubeobj.Ref) (kubeobj.Expected, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	want, ok := o.want[ref]
	return want, ok
}

func (o *owner) ExpectedOf(kubeobj.Kind) []kubeobj.Expected {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []kubeobj.Expected
	for _, want := range o.want {
		all = append(all, want)
	}
	return all
}

func (o *owner) Objects(service string) []kubeobj.Expected {
	return slices.DeleteFunc(o.ExpectedOf(configMaps), func(want kubeobj.Expected) bool { return want.Service != service })
}

func (o *owner) Heal(_ context.Context, _ string, refs []kubeobj.Ref) ([]kubeobj.Healed, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, ref := range refs {
		o.healed[ref]++
	}
	return nil, nil
}

func (o *owner) healedOf(ref kubeobj.Ref) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.healed[ref] == 0 {
		return fmt.Errorf("no heal of %s was asked for", ref)
	}
	return nil
}

// bed is a cluster with ConfigMaps as an agent leaves them.
type bed struct {
	t      *testing.T
	admin  kubernetes.Interface
	owner  *owner
	rest   *rest.Config
	spaces string
}

func newBed(t *testing.T, cluster *kube.Cluster, cfg *rest.Config) *bed {
	t.Helper()
	admin, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return &bed{t: t, admin: admin, rest: cfg, spaces: cluster.Namespace(t),
		owner: &owner{want: map[kubeobj.Ref]kubeobj.Expected{}, healed: map[kubeobj.Ref]int{}}}
}

// make makes a ConfigMap and expects it to stay as it is.
func (b *bed) make(name string) kubeobj.Ref {
	b.t.Helper()
	ref := kubeobj.Ref{Kind: "ConfigMap", Namespace: b.spaces, Name: name}
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"labels":{%q:"c"},"annotations":{%q:"s",%q:%q}},"data":{"a":"b"}}`,
		name, kubeobj.ManagedLabel, kubeobj.ServiceAnnotation, kubeobj.TrackingAnnotation, ref.Tracking())
	object, err := b.admin.CoreV1().ConfigMaps(b.spaces).Patch(b.t.Context(), name, "application/apply-patch+yaml", []byte(body),
		metav1.PatchOptions{FieldManager: kubeobj.FieldManager})
	if err != nil {
		b.t.Fatal(err)
	}
	live := kubeobj.Reduce(ref, object)
	b.owner.mu.Lock()
	defer b.owner.mu.Unlock()
	b.owner.want[ref] = kubeobj.Expected{Ref: ref, Kind: configMaps, Service: "s", UID: live.UID, Print: live.Print}
	return ref
}

func (b *bed) delete(ref kubeobj.Ref) {
	b.t.Helper()
	if err := b.admin.CoreV1().ConfigMaps(ref.Namespace).Delete(b.t.Context(), ref.Name, metav1.DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// start runs a watcher until the test ends.
func (b *bed) start() *drift.Watcher {
	b.t.Helper()
	w, err := drift.New(drift.Config{REST: b.rest, ClusterID: "c"})
	if err != nil {
		b.t.Fatal(err)
	}
	w.Watch([]kubeobj.Kind{configMaps})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Run(ctx, b.owner)
	}()
	b.t.Cleanup(func() {
		cancel()
		<-done
	})
	return w
}

func TestWatchSurvivesItsAPIServer(t *testing.T) {
	cluster := kube.New(t, kube.ClusterConfig{})
	b := newBed(t, cluster, cluster.Config())
	kept, first, second := b.make("kept"), b.make("first"), b.make("second")
	w := b.start()
	w.Wait(t.Context(), []kubeobj.Kind{configMaps})
	if all := w.Findings("s"); len(all) != 0 || !w.Synced(configMaps) {
		t.Fatalf("at the start: %+v", all)
	}
	b.delete(first)
	eventually.For(t, time.Minute, "a deletion is seen", func() error { return b.owner.healedOf(first) })

	cluster.Stop()
	eventually.For(t, time.Minute, "an API server that is away is not taken for no drift", func() error {
		if all := w.Findings("s"); w.Synced(configMaps) || len(all) < 2 {
			return fmt.Errorf("%+v", all)
		}
		return nil
	})
	if err := cluster.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.delete(second)
	eventually.For(t, 2*time.Minute, "a deletion after the restart is seen", func() error { return b.owner.healedOf(second) })
	if b.owner.healedOf(kept) == nil {
		t.Error("an object that nobody touched was healed")
	}
}

func TestKindThatMayNotBeWatchedIsUnknownAndCompared(t *testing.T) {
	cluster := kube.New(t, kube.ClusterConfig{})
	cfg, err := cluster.ConfigFor("getter")
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t, cluster, cfg)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "getter"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}}
	if _, err := b.admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "getter"}, Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "getter"}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "getter"}}
	if _, err := b.admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	getter, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	kept, gone := b.make("kept"), b.make("gone")
	eventually.For(t, time.Minute, "the role works", func() error {
		_, err := getter.CoreV1().ConfigMaps(b.spaces).Get(t.Context(), kept.Name, metav1.GetOptions{})
		return err
	})
	w := b.start()
	w.Wait(t.Context(), []kubeobj.Kind{configMaps})
	all := w.Findings("s")
	if len(all) != 2 || all[0].State != drift.Unknown {
		t.Fatalf("%+v", all)
	}
	components := w.Components(b.owner.ExpectedOf(configMaps))
	if components[0].GetHealth() != "Unknown" {
		t.Errorf("%+v", components)
	}
	b.delete(gone)
	w.CompareNow(t.Context())
	eventually.For(t, time.Minute, "the comparison finds the deletion", func() error { return b.owner.healedOf(gone) })
	if b.owner.healedOf(kept) == nil {
		t.Error("an object that nobody touched was healed")
	}
}
