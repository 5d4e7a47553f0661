package kube_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// leaseIsAsNew uses a cluster as tests do, and looks at the one that gets its API server.
func leaseIsAsNew(t *testing.T, cfg kube.ClusterConfig) {
	ctx := t.Context()
	one, err := kube.Lease(ctx, cfg)
	must(t, err)
	url, fresh := one.URL(), whatItHolds(t, one)
	api := client(t, one.Config())
	for range 2 { // the second is used in the same way as the first
		use(t, one)
		must(t, one.Close())
		one, err = kube.Lease(ctx, cfg)
		must(t, err)
		if one.URL() != url {
			t.Errorf("the API server at %s, and not that at %s, is leased", one.URL(), url)
		}
		if have := whatItHolds(t, one); !slices.Equal(have, fresh) {
			t.Errorf("it holds\n%q\nand not\n%q", have, fresh)
		}
		events, err := one.Audit()
		must(t, err)
		if bad := events.ByUserAgent("user"); len(bad) > 0 {
			t.Errorf("its audit log has\n%s", bad)
		}
		view, err := api.RbacV1().ClusterRoles().Get(ctx, "system:node", metav1.GetOptions{})
		must(t, err)
		if len(view.Rules) == 0 {
			t.Error("a role of Kubernetes has lost its rules")
		}
	}
	must(t, one.Close())
}

// stoppedIsNotLeased finds that a server is not leased again after it was stopped, and that one
// that was paused is.
func stoppedIsNotLeased(t *testing.T) {
	one, err := kube.Lease(t.Context(), kube.ClusterConfig{})
	must(t, err)
	must(t, one.Pause())
	must(t, one.Close())
	next, err := kube.Lease(t.Context(), kube.ClusterConfig{})
	must(t, err)
	if next.URL() != one.URL() {
		t.Errorf("the API server at %s is leased, and not that at %s, which was paused", next.URL(), one.URL())
	}
	next.Stop()
	must(t, next.Close())
	last, err := kube.Lease(t.Context(), kube.ClusterConfig{})
	must(t, err)
	if last.URL() == one.URL() {
		t.Errorf("the API server at %s is leased again", last.URL())
	}
	must(t, last.Close())
}

// TestSharedEndsWithItsLastTest finds that tests at the same time have one cluster, and that
// the next one finds nothing of theirs.
func TestSharedEndsWithItsLastTest(t *testing.T) {
	var namespace string
	t.Run("two", func(t *testing.T) {
		cluster := kube.Shared(t)
		t.Run("inner", func(t *testing.T) {
			if inner := kube.Shared(t); inner != cluster {
				t.Errorf("a test beside another one has cluster %s, and not %s", inner.URL(), cluster.URL())
			}
		})
		namespace = cluster.Namespace(t) // the end of the inner one ended nothing
	})
	t.Run("next", func(t *testing.T) {
		_, err := client(t, kube.Shared(t).Config()).CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("the namespace of a test before: %v", err)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// whatItHolds are the namespaces, CRDs and groups of a cluster.
func whatItHolds(t *testing.T, cluster *kube.Cluster) []string {
	t.Helper()
	api := client(t, cluster.Config())
	namespaces, err := api.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	var all []string
	for _, n := range namespaces.Items {
		all = append(all, "namespace "+n.Name)
	}
	groups, err := api.Discovery().ServerGroups()
	must(t, err)
	for _, g := range groups.Groups {
		all = append(all, "group "+g.Name)
	}
	dyn, err := dynamic.NewForConfig(cluster.Config())
	must(t, err)
	list, err := dyn.Resource(crds).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, o := range list.Items {
		all = append(all, "crd "+o.GetName())
	}
	bindings, err := api.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for _, b := range bindings.Items {
		all = append(all, "binding "+b.Name)
	}
	return all
}

// use writes what the tests of this repository write: objects of a kind of its own, one
// that no controller lets go, and changes of what Kubernetes brings.
func use(t *testing.T, cluster *kube.Cluster) {
	t.Helper()
	ctx, config := t.Context(), cluster.Config()
	config.UserAgent = "user"
	api := client(t, config)
	namespace := cluster.Namespace(t)
	_, err := api.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.com/never"}}}, metav1.CreateOptions{})
	must(t, err)
	must(t, api.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}))
	must(t, api.RbacV1().ClusterRoleBindings().Delete(ctx, "cluster-admin", metav1.DeleteOptions{}))
	_, err = api.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "everybody"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "everybody"}},
	}, metav1.CreateOptions{})
	must(t, err)
	role, err := api.RbacV1().ClusterRoles().Get(ctx, "system:node", metav1.GetOptions{})
	must(t, err)
	role.Rules = nil
	_, err = api.RbacV1().ClusterRoles().Update(ctx, role, metav1.UpdateOptions{})
	must(t, err)
	useOwnKind(t, cluster)
}

func useOwnKind(t *testing.T, cluster *kube.Cluster) {
	t.Helper()
	ctx := t.Context()
	dyn, err := dynamic.NewForConfig(cluster.Config())
	must(t, err)
	object := func(v map[string]any) *unstructured.Unstructured { return &unstructured.Unstructured{Object: v} }
	_, err = dyn.Resource(crds).Create(ctx, object(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Cluster", "names": map[string]any{"plural": "widgets", "kind": "Widget"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
		},
	}), metav1.CreateOptions{})
	must(t, err)
	widgets := dyn.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
	widget := object(map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "one"}})
	eventually.For(t, time.Minute, "the kind is served", func() error {
		_, err := widgets.Create(ctx, widget, metav1.CreateOptions{})
		return err
	})
	list, err := widgets.List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 1 {
		t.Errorf("a new kind has %d objects, want the one made now", len(list.Items))
	}
}
