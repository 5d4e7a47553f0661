package install_test

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/cli/install"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/test/kube"
)

// right is one thing that an account may do or not.
type right struct {
	account, verb, group, resource, namespace, name string
	allowed                                         bool
}

// What the accounts of the chart may do, and what somebody who takes one over would
// want to do.
var rights = []right{
	{"axle", "create", "authentication.k8s.io", "tokenreviews", "", "", true},
	{"axle", "patch", "", "configmaps", "axle", "axle-ca", true},
	{"axle", "patch", "", "configmaps", "axle", "other", false},
	{"axle", "get", "", "secrets", "axle", "axle-db", false},
	{"axle", "list", "", "secrets", "axle", "", false},
	{"axle", "create", "", "pods", "axle", "", false},
	{"axle", "list", "", "nodes", "", "", false},
	{"axle", "create", "", "serviceaccounts/token", "axle", "axle-operator", false},

	{"axle-operator", "patch", "deployments.plural.sh", "servicedeployments", "any", "x", true},
	{"axle-operator", "get", "", "secrets", "axle", "x", true},
	{"axle-operator", "get", "", "secrets", "any", "x", false},
	{"axle-operator", "list", "", "secrets", "", "", false},
	{"axle-operator", "create", "", "secrets", "axle", "", false},
	{"axle-operator", "create", "", "secrets", "any", "", false},
	{"axle-operator", "patch", "apps", "deployments", "axle", "axle-operator", false},
	{"axle-operator", "create", "", "pods", "axle", "", false},
	{"axle-operator", "create", "rbac.authorization.k8s.io", "clusterrolebindings", "", "", false},
	{"axle-operator", "bind", "rbac.authorization.k8s.io", "clusterroles", "", "cluster-admin", false},
	{"axle-operator", "impersonate", "", "users", "", "root", false},
	{"axle-operator", "create", "authentication.k8s.io", "tokenreviews", "", "", false},
	{"axle-operator", "patch", "apiextensions.k8s.io", "customresourcedefinitions", "", "clusters.deployments.plural.sh", false},
	{"axle-operator", "create", "", "serviceaccounts/token", "axle", "axle", false},

	{"axle-crds", "patch", "apiextensions.k8s.io", "customresourcedefinitions", "", "clusters.deployments.plural.sh", true},
	{"axle-crds", "create", "apiextensions.k8s.io", "customresourcedefinitions", "", "", true},
	{"axle-crds", "patch", "apiextensions.k8s.io", "customresourcedefinitions", "", "certificates.cert-manager.io", false},
	{"axle-crds", "delete", "apiextensions.k8s.io", "customresourcedefinitions", "", "clusters.deployments.plural.sh", false},
	{"axle-crds", "create", "rbac.authorization.k8s.io", "clusterrolebindings", "", "", false},
	{"axle-crds", "list", "", "secrets", "", "", false},
}

// The API server is asked, with the roles of the chart in it.
func TestRightsOfTheControlPlane(t *testing.T) {
	sideBySide(t)
	cluster := kube.New(t, kube.ClusterConfig{})
	client, err := kubernetes.NewForConfig(cluster.Config())
	must(t, err)
	sound(t, client)
	r, err := install.Render(t.Context(), install.Request{Release: "axle", Namespace: "axle", Revision: 1, Values: map[string]any{
		"url": "https://a.test", "tls": map[string]any{"mode": "devCA"},
	}})
	must(t, err)
	text := r.Manifest
	for _, hook := range r.Hooks {
		text += "\n---\n" + hook.Manifest
	}
	applier, err := kubeapply.New(cluster.Config())
	must(t, err)
	objects, err := kubeapply.Documents([]byte(text))
	must(t, err)
	for _, object := range objects {
		if slices.Contains([]string{"ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}, object.GetKind()) {
			must(t, applier.Apply(t.Context(), object, "test"))
		}
	}
	for _, want := range rights {
		resource, sub, _ := strings.Cut(want.resource, "/")
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:axle:" + want.account, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:axle", "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: want.verb, Group: want.group, Resource: resource, Subresource: sub, Namespace: want.namespace, Name: want.name},
		}}, metav1.CreateOptions{})
		must(t, err)
		if answer.Status.Allowed != want.allowed {
			t.Errorf("%s may %s %s %s/%s: %v %s", want.account, want.verb, want.resource, want.namespace, want.name, answer.Status.Allowed, answer.Status.Reason)
		}
	}
}

// Somebody who may write Secrets in the namespace of the release gets no object of their
// own into it: the password of the trial's Postgres, which the chart reads, stays one.
func TestPasswordOfTheTrialIsNoManifest(t *testing.T) {
	sideBySide(t)
	cluster := kube.New(t, kube.ClusterConfig{})
	client, err := kubernetes.NewForConfig(cluster.Config())
	must(t, err)
	sound(t, client)
	render := func(ctx context.Context) (*install.Rendered, error) {
		return install.Render(ctx, install.Request{Release: "axle", Namespace: "axle", Revision: 2, Upgrade: true, Cluster: cluster.Config(), Values: map[string]any{
			"url": "https://a.test", "postgres": map[string]any{"trial": true},
		}})
	}
	secret(t, client, "axle", "axle-postgres", map[string][]byte{"password": []byte("kept1234")})
	r, err := render(t.Context())
	must(t, err)
	if !strings.Contains(r.Manifest, "postgres://axle:kept1234@") {
		t.Error("the password of before was not kept")
	}
	for _, password := range []string{
		"x\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: mine}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: User, name: mallory}]\n---\na: b",
		"x\n  more: y", "x@elsewhere.test/y?", "", "kept1234\n",
	} {
		must(t, client.CoreV1().Secrets("axle").Delete(t.Context(), "axle-postgres", metav1.DeleteOptions{}))
		_, err := client.CoreV1().Secrets("axle").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "axle-postgres"}, Data: map[string][]byte{"password": []byte(password)}}, metav1.CreateOptions{})
		must(t, err)
		r, err := render(t.Context())
		if err == nil || !strings.Contains(err.Error(), "Secret axle-postgres holds a password that this chart has not made") {
			t.Errorf("%q: %v", password, err)
		}
		if r != nil && strings.Contains(r.Manifest, "mallory") {
			t.Errorf("%q became an object", password)
		}
		if err != nil && password != "" && (strings.Contains(err.Error(), password) || strings.Contains(err.Error(), base64.StdEncoding.EncodeToString([]byte(password)))) {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}
