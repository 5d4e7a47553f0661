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
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/errcode"
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

// mayDelete waits until the API server's authorizer, which has its own caches, knows
// an account's rights.
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

// asTenant is the permit of a service with the limits of its project, besides the
// rights of its account.
func (b *bed) asTenant(service apply.Service, account string, limits tenancy.Limits) tenancy.Permit {
	b.t.Helper()
	limits.Project = "shop"
	permit, err := b.gates[b.engine].Permit(tenancy.Request{Service: service.ID, Namespace: service.Namespace, Account: account, Limits: limits})
	if err != nil {
		b.t.Fatal(err)
	}
	return permit
}

func TestTenantAccountCannotApplyOutsideItsNamespacesAndKinds(t *testing.T) {
	b := newBed(t, nil)
	const role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: tenant-escapes}\nrules: []\n"
	for name, test := range map[string]struct {
		object string
		limits tenancy.Limits
		// says is in the message; empty is applied.
		says string
	}{
		"in its namespace":                  {object: configMap("in", "v1")},
		"in another namespace":              {object: configMap("out", "v1", "namespace: tenants-other"), says: "cannot patch resource"},
		"a kind that it is not granted":     {object: "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: out}\n", says: "cannot patch resource"},
		"cluster-scoped, allowed":           {object: role, limits: tenancy.Limits{ClusterScoped: true}, says: "cannot patch resource"},
		"cluster-scoped":                    {object: role, says: "belongs to the whole cluster"},
		"outside of the allowed namespaces": {object: configMap("out", "v1", "namespace: tenants-other"), limits: tenancy.Limits{Namespaces: []string{"team-*"}}, says: "not one of those that the service may write to"},
		"outside of the allowed kinds":      {object: configMap("out", "v1"), limits: tenancy.Limits{Kinds: []string{"Secret", "Deployment.apps"}}, says: "not one of those that the service may write"},
		"inside of the allowed kinds":       {object: configMap("in", "v1"), limits: tenancy.Limits{Kinds: []string{"Conf*"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService("d1")
			s.CreateNamespace = false
			b.tenant(s.Namespace, "deployer")
			b.makeNamespace("tenants-other")
			result, err := b.engine.Pass(t.Context(), b.asTenant(s, "deployer", test.limits), s, objects(t, test.object))
			switch {
			case err != nil:
				t.Error(err)
			case test.says == "" && result.Phase != apply.PhaseApplied:
				t.Errorf("%+v", result)
			case test.says != "" && (result.Sync != apply.SyncFailed || !strings.Contains(result.Message, test.says)):
				t.Errorf("want %q: %+v", test.says, result)
			}
			if _, err := b.configMap("tenants-other", "out"); !apierrors.IsNotFound(err) {
				t.Errorf("the object is there: %v", err)
			}
		})
	}
}

// Without a permit of its own, nothing is requested from the API server, and nothing
// remembered, for a service.
func TestNothingIsDoneWithoutAPermit(t *testing.T) {
	b := newBed(t, nil)
	s, other := newService("d1"), newService("d1")
	b.pass(s, configMap("one", "v1"))
	docs := objects(t, configMap("one", "v2"))
	for name, permit := range map[string]tenancy.Permit{"none": {}, "another service's": b.permit(b.engine, other)} {
		mark := b.mark()
		_, passed := b.engine.Pass(t.Context(), permit, s, docs)
		_, selected := b.engine.Select(t.Context(), permit, s, docs)
		_, compared := b.engine.Diff(t.Context(), permit, s, docs)
		_, drained := b.engine.Drain(t.Context(), permit, s)
		_, detached := b.engine.Detach(t.Context(), permit, s)
		for _, err := range []error{passed, selected, compared, drained, detached} {
			if !errcode.Is(err, errcode.Forbidden) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if sent := b.requests(mark); len(sent) > 0 {
			t.Errorf("%s: %v", name, sent)
		}
	}
	if state, _ := b.engine.State(s.ID); state.Phase != apply.PhaseApplied {
		t.Errorf("%+v", state)
	}
}

// A service that its project refuses by now leaves as the one who made it: its
// objects go, its hooks do not run.
func TestRefusedServiceLeavesAsWhoMadeIt(t *testing.T) {
	b := newBed(t, nil)
	s := newService("d1")
	s.CreateNamespace = false
	b.tenant(s.Namespace, "deployer")
	const farewell = `annotations: {axle-cd.github.io/hook: PreDelete}`
	made := b.asTenant(s, "deployer", tenancy.Limits{})
	if result, err := b.engine.Pass(t.Context(), made, s, objects(t, configMap("one", "v1"), configMap("bye", "v1", farewell))); err != nil || result.Phase != apply.PhaseApplied {
		t.Fatalf("%+v %v", result, err)
	}
	again := b.restart(nil)
	state, _ := again.State(s.ID)
	if state.User != made.User() {
		t.Fatalf("made as %q, remembered as %q", made.User(), state.User)
	}
	leaving := b.gates[again].Leaving(tenancy.Request{Service: s.ID, Namespace: s.Namespace}, state.User, errcode.New(errcode.Forbidden, "not any more"))
	result, err := again.Drain(t.Context(), leaving, s)
	if err != nil || result.Done || !strings.Contains(result.Message, "may not run: not any more") || b.uidOf(s.Namespace, "one") == "" {
		t.Errorf("with a hook: %+v %v", result, err)
	}
	again = b.restart(nil)
	if result, err := again.Pass(t.Context(), made, s, objects(t, configMap("one", "v1"))); err != nil || result.Phase != apply.PhaseApplied {
		t.Fatalf("%+v %v", result, err)
	}
	mark := b.mark()
	if result, err := again.Drain(t.Context(), leaving, s); err != nil || !result.Done || b.uidOf(s.Namespace, "one") != "" {
		t.Errorf("without one: %+v %v", result, err)
	}
	for _, e := range b.requests(mark) {
		if e.Object.Name == "one" && e.As.Name != made.User() {
			t.Errorf("%s as %q", e.URI, e.As.Name)
		}
	}
}

// A prune, a heal and a drain act as the account too.
func TestTenantAccountPrunesAndDrains(t *testing.T) {
	b := newBed(t, nil)
	s := newService("d1")
	s.CreateNamespace = false
	b.tenant(s.Namespace, "deployer")
	permit := b.asTenant(s, "deployer", tenancy.Limits{})
	pass := func(docs ...string) apply.Result {
		t.Helper()
		result, err := b.engine.Pass(t.Context(), permit, s, objects(t, docs...))
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	pass(configMap("stays", "v1"), configMap("goes", "v1"))
	if err := b.admin.RbacV1().RoleBindings(s.Namespace).Delete(t.Context(), "deployer", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.mayDelete(s.Namespace, "deployer", false)
	s.TarballDigest = "d2"
	if result := pass(configMap("stays", "v1")); !strings.Contains(result.Message, "cannot") || result.Sync != apply.SyncFailed {
		t.Errorf("a prune without the account's rights: %+v", result)
	}
	if _, err := b.configMap(s.Namespace, "goes"); err != nil {
		t.Error(err)
	}
	if drained, err := b.engine.Drain(t.Context(), permit, s); err != nil || drained.Done || !strings.Contains(drained.Message, "cannot") {
		t.Errorf("a drain without the account's rights: %+v %v", drained, err)
	}
	b.tenant(s.Namespace, "deployer")
	if drained, err := b.engine.Drain(t.Context(), permit, s); err != nil || !drained.Done {
		t.Errorf("a drain: %+v %v", drained, err)
	}
}
