package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/world"
)

// The suite itself takes minutes to build, so these are its kinds of tests in small:
// a client that goes through the hub must get the same answers as one that uses the
// API server directly.
func TestProxiedClientGetsTheSameAnswers(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	w, err := world.Start(ctx, world.Config{Clusters: []string{"edge"}, TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := w.Login(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ConnectProcess(ctx, "edge", world.AgentOptions{}); err != nil {
		t.Fatal(err)
	}
	trustAdministrators(ctx, t, w.Cluster("edge").Config())
	through := hubConfig(ctx, t, w)
	for name, play := range scenarios {
		t.Run(name, func(t *testing.T) {
			want := perform(ctx, t, w, "direct", w.Cluster("edge").Config(), play)
			got := perform(ctx, t, w, "hub", through, play)
			if len(want) == 0 {
				t.Fatal("nothing was said, so nothing is compared")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("directly - through the hub +\n%s", diff)
			}
		})
	}
}

// trustAdministrators binds the hub's administrators to the role that the agent's
// manifests give them; this agent runs outside its cluster.
func trustAdministrators(ctx context.Context, t *testing.T, config *rest.Config) {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "axle-admins"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "axle:admins"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// hubConfig is the kubeconfig that the command line makes, once it works.
func hubConfig(ctx context.Context, t *testing.T, w *world.World) *rest.Config {
	t.Helper()
	t.Setenv("AXLE_CONFIG", w.Settings())
	t.Setenv("PATH", filepath.Dir(w.Programs["axle"])+string(os.PathListSeparator)+os.Getenv("PATH"))
	result, err := w.Axle(ctx, "clusters", "kubeconfig", "edge", "--exec-plugin")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(result.Out))
	if err != nil {
		t.Fatalf("%v in\n%s", err, result.Out)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := eventually.Wait(ctx, time.Minute, func() error {
		_, err := client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return config
}

// perform runs a scenario in a new namespace and returns its records.
func perform(ctx context.Context, t *testing.T, w *world.World, way string, config *rest.Config, play func(context.Context, *client) error) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	c := &client{config: rest.CopyConfig(config), warnings: &warnings{}, namespace: w.Cluster("edge").Namespace(t)}
	c.config.WarningHandler = c.warnings
	c.config.QPS = -1
	var err error
	if c.Interface, err = kubernetes.NewForConfig(c.config); err != nil {
		t.Fatal(err)
	}
	// Without controllers nothing creates the account that admission may ask for.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := c.CoreV1().ServiceAccounts(c.namespace).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		t.Fatalf("%s: %v", way, err)
	}
	if err := play(ctx, c); err != nil {
		t.Fatalf("%s: %v, after %q", way, err, c.said)
	}
	return c.said
}
