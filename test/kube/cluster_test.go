package kube_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

func TestClustersOnOneEtcdAreApart(t *testing.T) {
	ctx := t.Context()
	one, two := kube.New(t, kube.ClusterConfig{}), kube.New(t, kube.ClusterConfig{})

	first, second := client(t, one.Config()), client(t, two.Config())
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "only-here", Namespace: "default"}}
	if _, err := first.CoreV1().ConfigMaps("default").Create(ctx, object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := second.CoreV1().ConfigMaps("default").Get(ctx, "only-here", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the second cluster answers %v for an object of the first, want not found", err)
	}
	crossed := one.Config()
	crossed.Host = two.URL()
	if _, err := client(t, crossed).Discovery().ServerVersion(); err == nil {
		t.Error("a client of the first cluster trusts the second")
	}
}

func TestPausedServerAnswersOnlyAfterResume(t *testing.T) {
	cluster := kube.New(t, kube.ClusterConfig{})
	api := client(t, cluster.Config())
	get := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		_, err := api.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
		return err
	}
	if err := get(30 * time.Second); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := get(300 * time.Millisecond); err == nil {
		t.Error("a paused API server answers")
	}
	cluster.Resume()
	if err := get(30 * time.Second); err != nil {
		t.Errorf("after the pause: %v", err)
	}
}

func TestCloseOfAPausedClusterEnds(t *testing.T) {
	cluster := kube.New(t, kube.ClusterConfig{Controllers: true, Kwok: true, Binaries: map[string]string{}})
	if err := cluster.Pause(); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- cluster.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(limit):
		t.Errorf("it has not ended after %v", limit)
	}
}

// usersAreWhoTheyAre looks at a cluster with the user tess.
func usersAreWhoTheyAre(t *testing.T, cluster *kube.Cluster) {
	ctx := t.Context()
	admin := client(t, cluster.Config())
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}},
	}
	if _, err := admin.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"},
		Subjects:   []rbacv1.Subject{{Kind: "Group", APIGroup: "rbac.authorization.k8s.io", Name: "readers"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "reader"},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	byToken, err := cluster.KubeconfigWithToken("tess", "tess-token")
	if err != nil {
		t.Fatal(err)
	}
	byCertificate, err := cluster.KubeconfigFor("toni", "readers")
	if err != nil {
		t.Fatal(err)
	}
	nobody, err := cluster.KubeconfigFor("nobody")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		kubeconfig string
		args       []string
		want       string
	}{
		"the administrator writes":      {cluster.Kubeconfig(), []string{"auth", "can-i", "create", "pods"}, "yes"},
		"a token's group reads":         {byToken, []string{"auth", "can-i", "list", "pods"}, "yes"},
		"a token's group cannot write":  {byToken, []string{"auth", "can-i", "create", "pods"}, "no"},
		"a certificate's group reads":   {byCertificate, []string{"auth", "can-i", "list", "pods"}, "yes"},
		"who is in no group, does not":  {nobody, []string{"auth", "can-i", "list", "pods"}, "no"},
		"a certificate gives the name":  {nobody, []string{"auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"}, "nobody"},
		"a token gives the user's name": {byToken, []string{"auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"}, "tess"},
	} {
		t.Run(name, func(t *testing.T) {
			// The authorizer knows the binding a moment later.
			eventually.For(t, 30*time.Second, "kubectl", func() error {
				// can-i ends with 1 where it says no.
				out, _ := exec.CommandContext(ctx, "kubectl", append([]string{"--kubeconfig", test.kubeconfig}, test.args...)...).CombinedOutput()
				if got := strings.TrimSpace(string(out)); got != test.want {
					return fmt.Errorf("kubectl %s says %q, want %q", strings.Join(test.args, " "), got, test.want)
				}
				return nil
			})
		})
	}
}

func TestAuditCountsRequestsOfOneUser(t *testing.T) {
	ctx := t.Context()
	cluster := kube.Shared(t)
	namespace := cluster.Namespace(t)
	cfg, err := cluster.ConfigFor("counted", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	api := client(t, cfg)
	mark, err := cluster.AuditMark()
	if err != nil {
		t.Fatal(err)
	}

	watch, err := api.CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := api.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client(t, cluster.Config()).CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}

	events, err := cluster.AuditSince(mark)
	if err != nil {
		t.Fatal(err)
	}
	verbs := map[string]int{}
	for _, e := range events.ByUser("counted").Requests() {
		verbs[e.Verb]++
	}
	if verbs["watch"] != 1 || verbs["list"] != 3 || len(verbs) != 2 {
		t.Errorf("counted %v, want one watch and three lists; the log has\n%s", verbs, events)
	}

	if mark, err = cluster.AuditMark(); err != nil {
		t.Fatal(err)
	}
	watch.Stop()
	eventually.For(t, limit, "the record of the watch's end", func() error {
		if events, err = cluster.AuditSince(mark); err == nil && len(events.ByUser("counted")) == 0 {
			err = errors.New("it is not there")
		}
		return err
	})
	if quiet := events.ByUser("counted").Requests(); len(quiet) != 0 {
		t.Errorf("closing a watch counts as requests:\n%s", quiet)
	}
}

func client(t *testing.T, cfg *rest.Config) *kubernetes.Clientset {
	t.Helper()
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}
