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
