package operator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

// bound are the bindings at a place, as "subject action".
func (b *bed) bound(at *hubv1.Place) (all []string) {
	b.Helper()
	for _, one := range ask(b, b.people.Bindings.List, &hubv1.ListBindingsRequest{At: at}).GetBindings() {
		all = append(all, one.GetSubject()+" "+one.GetAction())
	}
	slices.Sort(all)
	return all
}

func (b *bed) binds(at *hubv1.Place, want ...string) {
	b.Helper()
	eventually.For(b, limit, fmt.Sprintf("the bindings are %q", want), func() error {
		if have := b.bound(at); !slices.Equal(have, want) {
			return fmt.Errorf("they are %q", have)
		}
		return nil
	})
}

// Bindings of a project, a cluster and a service act at their place, and leave those of
// others alone.
func TestBindingsOfObjects(t *testing.T) {
	b := newBed(t)
	b.operate()
	ask(b, b.people.Groups.Create, &hubv1.CreateGroupRequest{Name: "sre"})
	ask(b, b.people.Users.Create, &hubv1.CreateUserRequest{Email: "ann@example.test"})
	project := func(bindings string) string {
		return "apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: shop" + bindings + "}"
	}
	at := &hubv1.Place{Project: "shop"}
	b.apply(project(", bindings: {write: [{groupName: sre}], read: [{userEmail: ann@example.test}, {UserID: '7'}]}"))
	p := &v1alpha1.Project{ObjectMeta: meta1("shop", "")}
	b.synchronized(p)
	b.binds(at, "ann@example.test read", "sre write")
	if got := strings.Join(p.Status.NotActing, ", "); got != "spec.bindings.read[] by id" {
		t.Errorf("not acting: %s", got)
	}
	// People's rows stay; those that are no longer declared go, also the last ones.
	ask(b, b.people.Bindings.Create, &hubv1.CreateBindingRequest{SubjectKind: "group", Subject: "sre", Actions: []string{"read"}, Place: at})
	b.apply(project(", bindings: {write: [{groupName: sre}]}"))
	b.binds(at, "sre read", "sre write")
	b.apply(project(""))
	b.binds(at, "sre read")
	b.synchronized(p)
	b.rest()
	calls := b.gate.count("Bindings/List")
	b.apply(project(", description: 'no bindings, no calls'"))
	b.synchronized(p)
	if n := b.gate.count("Bindings/List"); n > calls+1 { // one is the test's own
		t.Errorf("%d calls about bindings that are not declared", n-calls)
	}

	s := b.declare()
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Cluster\nmetadata: {name: edge, namespace: " + b.namespace + "}\nspec: {handle: edge-1, bindings: {read: [{groupName: sre}]}}")
	b.binds(&hubv1.Place{Cluster: "edge-1"}, "sre read")
	b.apply(fmt.Sprintf(service, b.namespace, "red") + "\n  bindings: {write: [{groupName: nobody}]}")
	b.want(s, "Synchronized", "False", "NotFound", "nobody")
	if s.Status.ID == nil {
		t.Error("the service is in the hub, and has no id")
	}
	b.apply(fmt.Sprintf(service, b.namespace, "red") + "\n  bindings: {write: [{groupName: sre}]}")
	b.synchronized(s)
	b.binds(&hubv1.Place{Cluster: "edge-1", Service: "web"}, "sre write")
}

// A tenant who may write a service gives no rights that they may not give.
func TestBindingsOfTenants(t *testing.T) {
	b := newBed(t)
	team := b.tenant("team-a", "edge-1")
	b.issue("team-a", team)
	b.apply(credentials("a", team, team))
	ask(b, b.people.Groups.Create, &hubv1.CreateGroupRequest{Name: "mallory"})
	b.operate()
	b.shared()
	b.apply(fmt.Sprintf(tenantService, "web", team, "edge-1", "red") + "\n  bindings: {create: [{groupName: mallory}]}")
	s := &v1alpha1.ServiceDeployment{ObjectMeta: meta1("web", team)}
	b.want(s, "Synchronized", "False", "Error", "is not an administrator")
	if have := b.bound(&hubv1.Place{Cluster: "edge-1", Service: "web"}); len(have) != 0 {
		t.Errorf("the tenant gave %q", have)
	}
	b.apply(fmt.Sprintf(tenantService, "web", team, "edge-1", "red"))
	b.synchronized(s)
}

// DeploymentSettings are the bindings of the hub, and only one object is used.
func TestDeploymentSettings(t *testing.T) {
	b := newBed(t)
	ask(b, b.people.Groups.Create, &hubv1.CreateGroupRequest{Name: "sre"})
	const home = "plrl-deploy-operator"
	if err := b.Create(t.Context(), &corev1.Namespace{ObjectMeta: meta1(home, "")}); err != nil {
		t.Log(err) // of an earlier run on the same API server
	}
	b.secret("hub", b.namespace, map[string]string{"token": b.hub.AdminToken})
	b.apply(credentials("home", b.namespace, home))
	b.operate()
	settings := func(name, namespace, spec string) *v1alpha1.DeploymentSettings {
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: DeploymentSettings\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec: " + spec)
		return &v1alpha1.DeploymentSettings{ObjectMeta: meta1(name, namespace)}
	}
	before := b.bound(&hubv1.Place{})
	d := settings("global", home, "{managementRepo: x, bindings: {read: [{groupName: sre}], git: [{groupName: sre}]}}")
	b.synchronized(d)
	b.binds(&hubv1.Place{}, append(slices.Clone(before), "sre git", "sre read")...)
	if got := strings.Join(d.Status.NotActing, " "); got != "spec.managementRepo" {
		t.Errorf("not acting: %s", got)
	}
	for _, other := range []*v1alpha1.DeploymentSettings{settings("other", home, "{bindings: {write: [{groupName: sre}]}}"), settings("global", b.namespace, "{bindings: {write: [{groupName: sre}]}}")} {
		b.want(other, "Synchronized", "False", "Error", "this one is ignored")
	}
	b.binds(&hubv1.Place{}, append(slices.Clone(before), "sre git", "sre read")...)
	b.deleted(d)
	b.binds(&hubv1.Place{}, before...)
}
