package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
)

// byHub fails unless the hub names the manager of a repository or service.
func byHub(b *bed, have *hubv1.Manager, tool, id string) {
	b.Helper()
	if have.GetTool() != tool || !strings.HasSuffix(have.GetId(), id) {
		b.Errorf("the manager is %v, want %s …%s", have, tool, id)
	}
}

// annotate makes the operator take over the object of the hub.
func (b *bed) annotate(object client.Object) {
	b.Helper()
	if err := b.Get(b.Context(), key(object), object); err != nil {
		b.Fatal(err)
	}
	object.SetAnnotations(map[string]string{"axle-cd.github.io/adopt": "true"})
	if err := b.Update(b.Context(), object); err != nil {
		b.Fatal(err)
	}
}

// Of two resources for one name, the first has it: the second is shown what it is,
// changes nothing, and its deletion deletes nothing.
func TestTwoResourcesForOneName(t *testing.T) {
	b := newBed(t)
	b.operate()
	first := b.declare()
	get := &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}}
	byHub(b, ask(b, b.people.Services.Get, get).GetManagedBy(), "operator", "/ServiceDeployment.deployments.plural.sh/"+b.namespace+"/"+first.Name)

	b.apply(strings.Replace(fmt.Sprintf(service, b.namespace, "blue"), "name: web", "name: rival", 1) + "\n  name: web")
	rival := &v1alpha1.ServiceDeployment{ObjectMeta: meta1("rival", b.namespace)}
	b.want(rival, "Readonly", "True", "Readonly", "managed by the operator (ServiceDeployment "+b.namespace+"/"+first.Name+")")
	if len(rival.Finalizers) != 0 {
		t.Errorf("finalizers %q", rival.Finalizers)
	}
	if have := ask(b, b.people.Services.Get, get); have.GetSpec().GetConfiguration()["color"] != "red" {
		t.Errorf("the second one wrote: %v", have.GetSpec())
	}

	// Asked to, it takes the service over, and then the first one is the reader.
	b.annotate(rival)
	b.want(rival, "Readonly", "False", "Readonly", "")
	have := ask(b, b.people.Services.Get, get)
	byHub(b, have.GetManagedBy(), "operator", "/rival")
	if have.GetSpec().GetConfiguration()["color"] != "blue" {
		t.Errorf("it has not written: %v", have.GetSpec())
	}
	b.apply(fmt.Sprintf(service, b.namespace, "green"))
	b.want(first, "Readonly", "True", "Readonly", "/rival)")
	b.deleted(first)
	if have := ask(b, b.people.Services.Get, get); have.GetDeleting() || have.GetSpec().GetConfiguration()["color"] != "blue" {
		t.Errorf("the deletion of the first one changed it: %v", have)
	}
	b.deleted(rival)
	absent(b, b.people.Services.Get, get)
}

// What Terraform manages stays Terraform's; what people made is adopted.
func TestRepositoriesOfOtherManagers(t *testing.T) {
	b := newBed(t)
	url := b.fleet()
	terraform := &hubv1.Management{By: &hubv1.Manager{Tool: "terraform", Id: "default"}}
	ask(b, b.people.Repositories.Create, &hubv1.CreateRepositoryRequest{Name: "theirs", Url: url, Management: terraform})
	ask(b, b.people.Repositories.Create, &hubv1.CreateRepositoryRequest{Name: "ours", Url: url})
	b.operate()
	declare := func(name string) *v1alpha1.GitRepository {
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: GitRepository\nmetadata: {name: " + name + "}\nspec: {url: '" + url + "'}")
		return &v1alpha1.GitRepository{ObjectMeta: meta1(name, "")}
	}
	manager := func(name string) *hubv1.Manager {
		return ask(b, b.people.Repositories.Get, &hubv1.GetRepositoryRequest{Name: name}).GetManagedBy()
	}
	theirs, ours := declare("theirs"), declare("ours")
	b.want(theirs, "Readonly", "True", "Readonly", "managed by terraform (default)")
	b.want(ours, "Readonly", "False", "Readonly", "")
	byHub(b, manager("theirs"), "terraform", "default")
	byHub(b, manager("ours"), "operator", "/GitRepository.deployments.plural.sh//ours")

	b.deleted(theirs)
	byHub(b, manager("theirs"), "terraform", "default")

	// Somebody takes over what a resource wrote: the resource reads from then on, and
	// its deletion leaves the repository.
	ask(b, b.people.Repositories.Update, &hubv1.UpdateRepositoryRequest{Name: "ours", Management: &hubv1.Management{By: terraform.GetBy(), TakeOver: true}})
	b.deleted(ours)
	byHub(b, manager("ours"), "terraform", "default")
}

// Projects, contexts and clusters follow the same rules: what people made is adopted,
// what Terraform declares is shown, and what somebody has taken over is not deleted.
func TestOtherKindsOfOtherManagers(t *testing.T) {
	b := newBed(t)
	terraform := &hubv1.Management{By: &hubv1.Manager{Tool: "terraform", Id: "default"}}
	ask(b, b.people.Projects.Create, &hubv1.CreateProjectRequest{Name: "theirs", Management: terraform})
	ask(b, b.people.Projects.Create, &hubv1.CreateProjectRequest{Name: "ours", Description: "of people"})
	ask(b, b.people.Contexts.Create, &hubv1.CreateContextRequest{Context: &hubv1.Context{Name: "theirs", Values: `{"size":1}`}, Management: terraform})
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "theirs", Tags: map[string]string{"tier": "edge"}, Management: terraform})
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "ours"})
	b.operate()
	const head = "apiVersion: deployments.plural.sh/v1alpha1\nkind: "
	in := ", namespace: " + b.namespace
	b.apply(head + "Project\nmetadata: {name: theirs}\nspec: {name: theirs, description: declared}\n---\n" +
		head + "Project\nmetadata: {name: ours}\nspec: {name: ours, description: declared}\n---\n" +
		head + "ServiceContext\nmetadata: {name: theirs" + in + "}\nspec: {configuration: {size: 2}}\n---\n" +
		head + "ServiceContext\nmetadata: {name: ours" + in + "}\nspec: {configuration: {size: 2}}\n---\n" +
		head + "Cluster\nmetadata: {name: theirs" + in + "}\nspec: {handle: theirs, tags: {tier: core}}\n---\n" +
		head + "Cluster\nmetadata: {name: ours" + in + "}\nspec: {handle: ours, tags: {tier: core}}")
	project, context := &v1alpha1.Project{ObjectMeta: meta1("theirs", "")}, &v1alpha1.ServiceContext{ObjectMeta: meta1("theirs", b.namespace)}
	cluster := &v1alpha1.Cluster{ObjectMeta: meta1("theirs", b.namespace)}
	for _, theirs := range []client.Object{project, context, cluster} {
		b.want(theirs, "Readonly", "True", "Readonly", "managed by terraform (default)")
	}
	ourProject, ourContext := &v1alpha1.Project{ObjectMeta: meta1("ours", "")}, &v1alpha1.ServiceContext{ObjectMeta: meta1("ours", b.namespace)}
	for _, ours := range []client.Object{ourProject, ourContext, &v1alpha1.Cluster{ObjectMeta: meta1("ours", b.namespace)}} {
		b.want(ours, "Readonly", "False", "Readonly", "")
	}
	if have := ask(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "theirs"}); have.GetTags()["tier"] != "edge" {
		t.Errorf("it wrote: %v", have)
	}
	have := ask(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "ours"})
	if byHub(b, have.GetManagedBy(), "operator", "/ours"); have.GetTags()["tier"] != "core" {
		t.Errorf("it has not written: %v", have)
	}
	byHub(b, ask(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "ours"}).GetManagedBy(), "operator", "/Project.deployments.plural.sh//ours")
	byHub(b, ask(b, b.people.Contexts.Get, &hubv1.GetContextRequest{Name: "ours"}).GetManagedBy(), "operator", "/ServiceContext.deployments.plural.sh/"+b.namespace+"/ours")

	b.deleted(project)
	b.deleted(context)
	ask(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "theirs"})
	ask(b, b.people.Contexts.Get, &hubv1.GetContextRequest{Name: "theirs"})
	takeOver := &hubv1.Management{By: terraform.GetBy(), TakeOver: true}
	ask(b, b.people.Projects.Update, &hubv1.UpdateProjectRequest{Name: "ours", Management: takeOver})
	b.deleted(ourProject)
	ask(b, b.people.Projects.Get, &hubv1.GetProjectRequest{Name: "ours"})
	b.deleted(ourContext)
	absent(b, b.people.Contexts.Get, &hubv1.GetContextRequest{Name: "ours"})
}
