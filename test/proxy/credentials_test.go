package proxy_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/eventually"
)

// An API server that makes clusters has the credentials of each. Whatever its RBAC lets a
// person do, none of them comes through the hub, by whichever request.
func TestCredentialsOfOtherClustersAreKept(t *testing.T) {
	t.Parallel()
	const made, team, secret = "cluster-shop-1-abc", "credentials-team", "cluster.x-k8s.io/secret"
	b := newBed(t, options{services: []*agentv1.ServiceSpec{{Id: "svc-1", Namespace: made, MakesCluster: "shop-1"}, {Id: "svc-2", Namespace: team}}})
	// Her rights are this test's only: other tests on the API server deny them to Alice.
	const name = "credentials-alice@example.com"
	person := b.people.by[aliceToken]
	person.Name = name
	b.people.by[aliceToken] = person
	api, ctx := b.direct(), t.Context()
	for _, namespace := range []string{made, team} {
		b.must(api.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}))
		for of, kind := range map[string]corev1.SecretType{"shop-1-kubeconfig": secret, "ordinary": corev1.SecretTypeOpaque} {
			b.must(api.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: of}, Type: kind, StringData: map[string]string{"value": "canary-of-" + of}}, metav1.CreateOptions{}))
		}
		b.must(api.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "state"}}, metav1.CreateOptions{}))
	}
	// Alice may do everything with Secrets and ConfigMaps, in all namespaces.
	b.must(api.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "credentials-all"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"secrets", "configmaps", "pods", "pods/exec"}, Verbs: []string{"*"},
	}}}, metav1.CreateOptions{}))
	b.must(api.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "credentials-all"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "credentials-all"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
	}, metav1.CreateOptions{}))
	t.Cleanup(func() {
		// The API server is that of other tests.
		if err := api.RbacV1().ClusterRoleBindings().Delete(context.WithoutCancel(ctx), "credentials-all", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	alice := b.client(b.rest(aliceToken))
	eventually.For(t, limit, "Alice's rights", func() error {
		_, err := alice.CoreV1().Secrets(team).Get(ctx, "ordinary", metav1.GetOptions{})
		return err
	})

	const inMade, inTeam = "/api/v1/namespaces/" + made, "/api/v1/namespaces/" + team
	for _, token := range []string{aliceToken, adminToken} {
		for _, path := range []string{
			inMade + "/secrets/shop-1-kubeconfig", inMade + "/secrets/ordinary", inMade + "/secrets", inMade + "/secrets?watch=1&timeoutSeconds=1", inMade + "/secrets?fieldSelector=metadata.name%3Dshop-1-kubeconfig",
			"/api/v1/watch/namespaces/" + made + "/secrets/shop-1-kubeconfig?timeoutSeconds=1", "/api/v1/namespaces/%63luster-shop-1-abc/secrets/shop-1-kubeconfig", inTeam + "/secrets/shop-1-kubeconfig",
		} {
			if response, body := b.get(token, path); response.StatusCode != http.StatusForbidden || strings.Contains(body, "canary") {
				t.Errorf("%s reads %s: %s %s", token, path, response.Status, body)
			}
		}
		// Of many, these are left out, whatever the client selects.
		for _, path := range []string{
			"/api/v1/secrets", "/api/v1/secrets?watch=1&timeoutSeconds=1", "/api/v1/watch/secrets?timeoutSeconds=1", inTeam + "/secrets", "/api/v1/watch/namespaces/" + team + "/secrets/shop-1-kubeconfig?timeoutSeconds=1",
			inTeam + "/secrets?fieldSelector=type%3Dcluster.x-k8s.io%2Fsecret", inTeam + "/secrets?fieldSelector=metadata.name%3Dshop-1-kubeconfig", inTeam + "/secrets?fieldSelector=metadata.name!%3Da%5C", inTeam + "/secrets?fieldSelector=&fieldSelector=metadata.name%3Dshop-1-kubeconfig",
			inTeam + "/secrets?limit=1&fieldSelector=type%3Dcluster.x-k8s.io%2Fsecret;a=b",
		} {
			if response, body := b.get(token, path); strings.Contains(body, "shop-1-kubeconfig") || response.StatusCode == http.StatusOK && strings.Contains(path, "watch") && !strings.Contains(path, "kubeconfig") && !strings.Contains(body, "ordinary") {
				t.Errorf("%s reads %s: %s %s", token, path, response.Status, body)
			}
		}
	}
	for name, call := range map[string]func() error{
		"takes one over": func() error {
			_, err := alice.CoreV1().Secrets(team).Patch(ctx, "shop-1-kubeconfig", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
			return err
		},
		"deletes one": func() error {
			return alice.CoreV1().Secrets(team).Delete(ctx, "shop-1-kubeconfig", metav1.DeleteOptions{})
		},
		"writes beside them": func() error {
			return alice.CoreV1().ConfigMaps(made).Delete(ctx, "state", metav1.DeleteOptions{})
		},
		"mounts one": func() error {
			_, err := alice.CoreV1().Pods(made).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}, metav1.CreateOptions{})
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "administrator") {
			t.Errorf("Alice %s: %v", name, err)
		}
	}
	if err := alice.CoreV1().Secrets(team).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	left, err := api.CoreV1().Secrets(team).List(ctx, metav1.ListOptions{})
	if err != nil || len(left.Items) != 1 || left.Items[0].Name != "shop-1-kubeconfig" || len(left.Items[0].Labels) > 0 {
		t.Errorf("after she deleted all: %v, %v", left, err)
	}

	// Everything else is as before.
	if _, err := alice.CoreV1().ConfigMaps(made).Get(ctx, "state", metav1.GetOptions{}); err != nil {
		t.Errorf("Alice reads what is made: %v", err)
	}
	if err := b.client(b.rest(adminToken)).CoreV1().ConfigMaps(made).Delete(ctx, "state", metav1.DeleteOptions{}); err != nil {
		t.Errorf("an administrator repairs what is made: %v", err)
	}
	all, err := alice.CoreV1().Secrets("").List(ctx, metav1.ListOptions{})
	if err != nil || !slices.ContainsFunc(all.Items, func(s corev1.Secret) bool { return s.Namespace == made && s.Name == "ordinary" }) {
		t.Errorf("Alice lists the others: %v", err)
	}
	w, err := alice.CoreV1().Secrets(team).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	b.must(alice.CoreV1().Secrets(team).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "later"}}, metav1.CreateOptions{}))
	if event := <-w.ResultChan(); event.Type != watch.Added || event.Object.(*corev1.Secret).Name != "later" {
		t.Errorf("Alice watches the others: %v", event)
	}
}
