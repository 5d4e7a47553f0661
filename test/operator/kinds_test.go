package operator_test

import (
	"context"
	"fmt"
	"testing"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/gitserver"
)

// ask makes a call of the hub that has to work.
func ask[Q, A any](b *bed, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q) *A {
	b.Helper()
	answer, err := call(b.Context(), connect.NewRequest(q))
	if err != nil {
		b.Fatalf("%T: %v", q, err)
	}
	return answer.Msg
}

// absent fails unless the hub has no such object.
func absent[Q, A any](b *bed, call func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), q *Q) {
	b.Helper()
	if _, err := call(b.Context(), connect.NewRequest(q)); !sdk.IsNotFound(err) {
		b.Fatalf("%T: %v, want not found", q, err)
	}
}

// idle does to an object what changes nothing, and fails if the hub is called.
func (b *bed) idle(object client.Object) {
	b.Helper()
	b.rest() // calls for what was before are not of the object
	before, handled := b.gate.count(), b.reconciles(kindOf(object))
	b.touch(object)
	eventually.For(b, limit, "the operator looked at it", func() error {
		if n := b.reconciles(kindOf(object)); n == handled {
			return fmt.Errorf("%v reconciles", n)
		}
		return nil
	})
	b.rest()
	if now := b.gate.count(); now != before {
		b.Errorf("%s changed nothing and made %d calls: %v", object.GetName(), now-before, b.gate.since(before))
	}
}

func TestProject(t *testing.T) {
	b := newBed(t)
	ask(b, b.people.Groups.Create, &hubv1.CreateGroupRequest{Name: "web"})
	b.operate()
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: web-shop, description: first, bindings: {read: [{groupName: web}]}}")
	p := &v1alpha1.Project{ObjectMeta: meta1("shop", "")}
	b.synchronized(p)
	b.want(p, "Ready", "True", "Ready", "")
	b.want(p, "Readonly", "False", "Readonly", "")
	have := ask(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "web-shop"})
	if have.GetDescription() != "first" || *p.Status.ID != have.GetId() || *p.Status.SHA == "" {
		t.Errorf("project %v, status %+v", have, p.Status)
	}
	if len(p.Finalizers) != 1 || p.Finalizers[0] != "deployments.plural.sh/project-protection" {
		t.Errorf("finalizers %q", p.Finalizers)
	}
	if len(p.Status.NotActing) != 0 {
		t.Errorf("not acting: %q", p.Status.NotActing)
	}
	b.idle(p)

	p.Spec.Description = new("second")
	if err := b.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	b.synchronized(p)
	if have := ask(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "web-shop"}); have.GetDescription() != "second" {
		t.Errorf("after the change: %v", have)
	}
	if n := b.gate.count("Projects/Create", "Projects/Update"); n != 2 {
		t.Errorf("%d writes, want 2", n)
	}

	// A name cannot follow: the old project would stay behind.
	p.Spec.Name = "other"
	if err := b.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	b.want(p, "Synchronized", "False", "Error", "cannot become other")

	b.deleted(p)
	absent(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "web-shop"})
}

func TestProjectOfOthers(t *testing.T) {
	b := newBed(t)
	ask(b, b.people.Projects.Create, &hubv1.CreateProjectRequest{Name: "shop", Description: "by Ann"})
	ask(b, b.people.Projects.Create, &hubv1.CreateProjectRequest{Name: "bank", Description: "by Ann"})
	b.operate()
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: shop, description: from Git, reconciliation: {driftDetection: false}}")
	shown := &v1alpha1.Project{ObjectMeta: meta1("shop", "")}
	b.want(shown, "Readonly", "True", "Readonly", "")
	b.synchronized(shown)
	if !shown.Status.Readonly || shown.Status.ID == nil || len(shown.Finalizers) != 0 {
		t.Errorf("status %+v, finalizers %q", shown.Status, shown.Finalizers)
	}
	// Its id does not make it this object's.
	handled := b.reconciles("Project")
	b.touch(shown)
	eventually.For(b, limit, "it is looked at again", func() error {
		if n := b.reconciles("Project"); n == handled {
			return fmt.Errorf("%v reconciles", n)
		}
		return nil
	})
	b.deleted(shown)
	if have := ask(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "shop"}); have.GetDescription() != "by Ann" {
		t.Errorf("a project of others became %v", have)
	}

	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: bank}\nspec: {name: bank, description: from Git}")
	adopted := &v1alpha1.Project{ObjectMeta: meta1("bank", "")}
	b.synchronized(adopted)
	if have := ask(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "bank"}); have.GetDescription() != "from Git" {
		t.Errorf("an adopted project is %v", have)
	}
}

// fleet makes an upstream with a folder web.
func (b *bed) fleet() string {
	b.Helper()
	if err := b.git.Create(b.Context(), "fleet"); err != nil {
		b.Fatal(err)
	}
	body := gitserver.Content("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n")
	if _, err := b.git.Commit(b.Context(), "fleet", "main", "add web", map[string]gitserver.Content{"web/config.yaml": body}); err != nil {
		b.Fatal(err)
	}
	return b.git.URL("fleet")
}

func TestGitRepository(t *testing.T) {
	b := newBed(t)
	b.operate()
	// A cluster-scoped kind with a stray namespace, as existing repositories have it.
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: GitRepository\nmetadata: {name: fleet, namespace: infra}\n" +
		"spec: {url: " + b.fleet() + ", credentialsRef: {name: git, namespace: " + b.namespace + "}}")
	r := &v1alpha1.GitRepository{ObjectMeta: meta1("fleet", "")}
	b.want(r, "Synchronized", "False", "NotFound", "Secret "+b.namespace+"/git of spec.credentialsRef does not exist")
	if n := b.gate.count(); n != 0 {
		t.Errorf("%d calls without the Secret", n)
	}
	secret := &corev1.Secret{ObjectMeta: meta1("git", b.namespace), StringData: map[string]string{"username": "git", "password": "first"}}
	if err := b.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	b.synchronized(r)
	if have := ask(b, b.people.Repositories.Get, &hubv1.GetRepositoryRequest{Name: "fleet"}); have.GetAuth() != "basic" || *r.Status.ID != have.GetId() {
		t.Errorf("repository %v, status %+v", have, r.Status)
	}
	b.idle(r)
	sha := *r.Status.SHA

	// Another password is an update, and cannot be read from the hash.
	secret.StringData = map[string]string{"password": "second"}
	if err := b.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	eventually.For(b, limit, "the new password is sent", func() error {
		if n := b.gate.count("Repositories/Update"); n != 1 {
			return fmt.Errorf("%d updates", n)
		}
		return nil
	})
	eventually.For(b, limit, "the new hash is stored", func() error {
		if err := b.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil || *r.Status.SHA == sha {
			return fmt.Errorf("%v, %+v", err, r.Status)
		}
		return nil
	})
	b.deleted(r)
	absent(b, b.people.Repositories.Get, &hubv1.GetRepositoryRequest{Name: "fleet"})
}

func TestCluster(t *testing.T) {
	b := newBed(t)
	b.operate()
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Cluster\nmetadata: {name: edge, namespace: " + b.namespace + "}\n" +
		"spec: {handle: edge-1, tags: {tier: edge}, metadata: {region: eu}}")
	c := &v1alpha1.Cluster{ObjectMeta: meta1("edge", b.namespace)}
	b.want(c, "Synchronized", "False", "NotFound", "the hub has no Cluster edge-1")
	if n := b.gate.count("Clusters/Create", "Clusters/Update"); n != 0 {
		t.Errorf("%d writes for a cluster that does not exist", n)
	}
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1"})
	b.synchronized(c)
	have := ask(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "edge-1"})
	if have.GetTags()["tier"] != "edge" || have.GetMetadata() != `{"region":"eu"}` || *c.Status.ID != have.GetId() {
		t.Errorf("cluster %v, status %+v", have, c.Status)
	}
	b.want(c, "Ready", "False", "Ready", "no agent has registered")
	b.idle(c)
	c.Spec.Tags = map[string]string{"tier": "core"}
	if err := b.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	b.synchronized(c)
	if have := ask(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "edge-1"}); have.GetTags()["tier"] != "core" {
		t.Errorf("tags %v", have.GetTags())
	}
	b.deleted(c)
	ask(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "edge-1"})
}

func TestServiceContext(t *testing.T) {
	b := newBed(t)
	b.operate()
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceContext\nmetadata: {name: shared, namespace: " + b.namespace + "}\n" +
		"spec: {configuration: {region: eu, size: 42}, configMapRefs: [{name: dns, scope: dns}], secretRef: {name: keys}, projectRef: {name: shop, namespace: stray}}")
	c := &v1alpha1.ServiceContext{ObjectMeta: meta1("shared", b.namespace)}
	b.want(c, "Synchronized", "False", "NotFound", "Project shop of spec.projectRef does not exist")
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: web-shop}")
	b.want(c, "Synchronized", "False", "NotFound", "ConfigMap "+b.namespace+"/dns of spec.configMapRefs does not exist")
	dns := &corev1.ConfigMap{ObjectMeta: meta1("dns", b.namespace), Data: map[string]string{"zone": "a.example"}}
	for _, o := range []client.Object{dns, &corev1.Secret{ObjectMeta: meta1("keys", b.namespace), StringData: map[string]string{"key": "hidden"}}} {
		if err := b.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	b.synchronized(c)
	have := ask(b, b.people.Contexts.Get, &hubv1.GetContextRequest{Name: "shared"})
	if have.GetProject() != "web-shop" || have.GetValues() != `{"dns":{"zone":"a.example"},"region":"eu","size":42}` || len(have.GetSecrets()) != 1 {
		t.Errorf("context %v", have)
	}
	b.idle(c)

	dns.Data = map[string]string{"zone": "b.example"}
	if err := b.Update(t.Context(), dns); err != nil {
		t.Fatal(err)
	}
	eventually.For(b, limit, "the new value is in the hub", func() error {
		if have := ask(b, b.people.Contexts.Get, &hubv1.GetContextRequest{Name: "shared"}); have.GetValues() != `{"dns":{"zone":"b.example"},"region":"eu","size":42}` {
			return fmt.Errorf("values %s", have.GetValues())
		}
		return nil
	})
	b.deleted(c)
	absent(b, b.people.Contexts.Get, &hubv1.GetContextRequest{Name: "shared"})
}

const service = `apiVersion: deployments.plural.sh/v1alpha1
kind: ServiceDeployment
metadata: {name: web, namespace: %[1]s}
spec:
  clusterRef: {name: edge}
  namespace: web
  detach: true
  repositoryRef: {name: fleet, namespace: stray}
  git: {ref: main, folder: web}
  configuration: {color: %[2]s}`

// declare applies a repository, a cluster and a service on it, and waits for them.
func (b *bed) declare() *v1alpha1.ServiceDeployment {
	b.Helper()
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1"})
	b.apply(fmt.Sprintf(service, b.namespace, "red"))
	s := &v1alpha1.ServiceDeployment{ObjectMeta: meta1("web", b.namespace)}
	b.want(s, "Synchronized", "False", "NotFound", "Cluster "+b.namespace+"/edge of spec.clusterRef does not exist")
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Cluster\nmetadata: {name: edge, namespace: " + b.namespace + "}\nspec: {handle: edge-1}")
	b.want(s, "Synchronized", "False", "NotFound", "GitRepository fleet of spec.repositoryRef does not exist")
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: GitRepository\nmetadata: {name: fleet}\nspec: {url: " + b.fleet() + "}")
	b.synchronized(s)
	return s
}

func TestServiceDeployment(t *testing.T) {
	b := newBed(t)
	b.operate()
	s := b.declare()
	get := &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}}
	have := ask(b, b.people.Services.Get, get)
	if have.GetSpec().GetRepository() != "fleet" || have.GetSpec().GetConfiguration()["color"] != "red" || *s.Status.ID != have.GetId() {
		t.Errorf("service %v, status %+v", have, s.Status)
	}
	if len(s.Finalizers) != 1 || s.Finalizers[0] != "deployments.plural.sh/service-protection" {
		t.Errorf("finalizers %q", s.Finalizers)
	}
	b.want(s, "Ready", "False", "Ready", "the service is")
	b.idle(s)

	b.apply(fmt.Sprintf(service, b.namespace, "blue"))
	b.synchronized(s)
	if have := ask(b, b.people.Services.Get, get); have.GetSpec().GetConfiguration()["color"] != "blue" {
		t.Errorf("after the change: %v", have)
	}

	// The reference is gone when the object is deleted: the hub's name is known.
	if err := b.Delete(t.Context(), &v1alpha1.Cluster{ObjectMeta: meta1("edge", b.namespace)}); err != nil {
		t.Fatal(err)
	}
	b.deleted(s)
	absent(b, b.people.Services.Get, get)
}

// Deleting a repository deletes what uses it first.
func TestGitRepositoryInUse(t *testing.T) {
	b := newBed(t)
	b.operate()
	s := b.declare()
	b.deleted(&v1alpha1.GitRepository{ObjectMeta: meta1("fleet", "")})
	b.gone(s)
	absent(b, b.people.Repositories.Get, &hubv1.GetRepositoryRequest{Name: "fleet"})
}
