package apply_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/eventually"
)

// tenant makes an account that may do everything with ConfigMaps and Secrets of
// one namespace.
func (b *bed) tenant(namespace, name string) {
	b.t.Helper()
	b.makeNamespace(namespace)
	ctx := b.t.Context()
	must := func(err error) {
		b.t.Helper()
		if err != nil && !apierrors.IsAlreadyExists(err) {
			b.t.Fatal(err)
		}
	}
	_, err := b.admin.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(err)
	_, err = b.admin.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"*"}}}}, metav1.CreateOptions{})
	must(err)
	_, err = b.admin.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}}}, metav1.CreateOptions{})
	must(err)
	b.mayDelete(namespace, name, true)
}

// mayDelete waits until the API server has heard what an account may do: it
// looks into caches of its own.
func (b *bed) mayDelete(namespace, name string, want bool) {
	b.t.Helper()
	eventually.For(b.t, time.Minute, "the account's rights are known", func() error {
		review, err := b.admin.AuthorizationV1().SubjectAccessReviews().Create(b.t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               "system:serviceaccount:" + namespace + ":" + name,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "delete", Resource: "configmaps"}}}, metav1.CreateOptions{})
		if err == nil && review.Status.Allowed != want {
			err = fmt.Errorf("allowed: %v", review.Status.Allowed)
		}
		return err
	})
}

func TestTenantAccountCannotApplyOutsideItsNamespacesAndKinds(t *testing.T) {
	b := newBed(t, nil)
	const role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: tenant-escapes}\nrules: []\n"
	for name, test := range map[string]struct {
		object string
		change func(*apply.Service)
		// says is in the message; empty is applied.
		says string
	}{
		"in its namespace":                   {object: configMap("in", "v1")},
		"in another namespace":               {object: configMap("out", "v1", "namespace: tenants-other"), says: "cannot patch resource"},
		"a kind that it is not granted":      {object: "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: out}\n", says: "cannot patch resource"},
		"the admin project, cluster-scoped":  {object: role, change: func(s *apply.Service) { s.Tenancy.Project = "default" }, says: "cannot patch resource"},
		"cluster-scoped":                     {object: role, says: "belongs to the whole cluster"},
		"no account":                         {object: configMap("out", "v1"), change: func(s *apply.Service) { s.ServiceAccount = "" }, says: "set serviceAccount"},
		"an account of the agent":            {object: configMap("out", "v1"), change: func(s *apply.Service) { s.ServiceAccount = "axle-system/axle-agent" }, says: "may not use accounts of namespace axle-system"},
		"an account of the cluster":          {object: configMap("out", "v1"), change: func(s *apply.Service) { s.ServiceAccount = "kube-system/clusterrole-aggregation-controller" }, says: "may not use accounts"},
		"the cluster's own as its namespace": {object: configMap("out", "v1"), change: func(s *apply.Service) { s.Namespace = "kube-system" }, says: "may not use accounts"},
		"outside of the allowed namespaces":  {object: configMap("out", "v1", "namespace: tenants-other"), change: func(s *apply.Service) { s.Tenancy.Namespaces = []string{"team-*"} }, says: "none of those that the service may write to"},
		"its own namespace is not allowed":   {object: configMap("out", "v1"), change: func(s *apply.Service) { s.Tenancy.Namespaces, s.Tenancy.Closed = []string{"team-*"}, true }, says: "none of those that the service may write to (team-*)"},
		"outside of the allowed kinds":       {object: configMap("out", "v1"), change: func(s *apply.Service) { s.Tenancy.Kinds = []string{"Secret", "Deployment.apps"} }, says: "none of those that the service may write"},
		"inside of the allowed kinds":        {object: configMap("in", "v1"), change: func(s *apply.Service) { s.Tenancy.Kinds = []string{"Conf*"} }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService("d1")
			s.CreateNamespace, s.ServiceAccount, s.Tenancy.Project = false, "deployer", "shop"
			b.tenant(s.Namespace, "deployer")
			b.makeNamespace("tenants-other")
			if test.change != nil {
				test.change(&s)
			}
			result := b.pass(s, test.object)
			switch {
			case test.says == "" && result.Phase != apply.PhaseApplied:
				t.Errorf("%+v", result)
			case test.says != "" && (result.Sync != apply.SyncFailed || !strings.Contains(result.Message, test.says)):
				t.Errorf("want %q: %+v", test.says, result)
			}
			if _, err := b.configMap("tenants-other", "out"); !apierrors.IsNotFound(err) {
				t.Errorf("the object is there: %v", err)
			}
			if _, err := b.configMap("kube-system", "out"); !apierrors.IsNotFound(err) {
				t.Errorf("the object is there: %v", err)
			}
		})
	}
}

// A prune, a heal and a drain act as the account too.
func TestTenantAccountPrunesAndDrains(t *testing.T) {
	b := newBed(t, nil)
	s := newService("d1")
	s.CreateNamespace, s.ServiceAccount, s.Tenancy.Project = false, "deployer", "shop"
	b.tenant(s.Namespace, "deployer")
	b.pass(s, configMap("stays", "v1"), configMap("goes", "v1"))
	if err := b.admin.RbacV1().RoleBindings(s.Namespace).Delete(t.Context(), "deployer", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.mayDelete(s.Namespace, "deployer", false)
	s.TarballDigest = "d2"
	if result := b.pass(s, configMap("stays", "v1")); !strings.Contains(result.Message, "cannot") || result.Sync != apply.SyncFailed {
		t.Errorf("a prune without the account's rights: %+v", result)
	}
	if _, err := b.configMap(s.Namespace, "goes"); err != nil {
		t.Error(err)
	}
	if drained, err := b.engine.Drain(t.Context(), s); err != nil || drained.Done || !strings.Contains(drained.Message, "cannot") {
		t.Errorf("a drain without the account's rights: %+v %v", drained, err)
	}
	b.tenant(s.Namespace, "deployer")
	if drained, err := b.engine.Drain(t.Context(), s); err != nil || !drained.Done {
		t.Errorf("a drain: %+v %v", drained, err)
	}
}
