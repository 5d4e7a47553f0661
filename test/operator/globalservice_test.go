package operator_test

import (
	"fmt"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

const globalService = `apiVersion: deployments.plural.sh/v1alpha1
kind: GlobalService
metadata: {name: web, namespace: %[1]s}
spec:
  tags: {tier: edge}
  cascade: {delete: true}
  context: {raw: {folder: web}}
  template:
    namespace: web
    repositoryRef: {name: fleet}
    git: {ref: main, folder: "{{ context.folder }}"}
    configurationRef: {name: web}
    configuration: {color: %[2]s}`

func TestGlobalService(t *testing.T) {
	b := newBed(t)
	b.operate()
	for _, name := range []string{"edge-1", "edge-2"} {
		ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: name, Tags: map[string]string{"tier": "edge"}})
	}
	b.apply(fmt.Sprintf(globalService, b.namespace, "red"))
	g := &v1alpha1.GlobalService{ObjectMeta: meta1("web", b.namespace)}
	b.want(g, "Synchronized", "False", "NotFound", "GitRepository fleet of spec.template.repositoryRef does not exist")
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: GitRepository\nmetadata: {name: fleet}\nspec: {url: " + b.fleet() + "}")
	b.want(g, "Synchronized", "False", "NotFound", "Secret")
	b.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: web, namespace: " + b.namespace + "}\nstringData: {password: swordfish}")
	b.synchronized(g)

	have := ask(b, b.people.GlobalServices.Get, &hubv1.GetGlobalServiceRequest{Name: "web"})
	if have.GetSettings().GetTags()["tier"] != "edge" || have.GetSettings().GetCascade() != "delete" || *g.Status.ID != have.GetId() || have.GetManagedBy().GetTool() != "operator" {
		t.Errorf("global service %v, status %+v", have, g.Status)
	}
	if len(g.Finalizers) != 1 || g.Finalizers[0] != "deployments.plural.sh/globalservice-protection" {
		t.Errorf("finalizers %q", g.Finalizers)
	}
	for _, cluster := range []string{"edge-1", "edge-2"} {
		b.target(cluster, "red")
	}
	b.idle(g)

	b.apply(fmt.Sprintf(globalService, b.namespace, "blue"))
	b.synchronized(g)
	b.target("edge-2", "blue")

	b.deleted(g)
	absent(b, b.people.GlobalServices.Get, &hubv1.GetGlobalServiceRequest{Name: "web"})
	absent(b, b.people.Services.Get, &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}})
}

// target waits until a cluster has the service as the template declares it.
func (b *bed) target(cluster, color string) {
	b.Helper()
	request := &hubv1.ListServicesRequest{Cluster: cluster}
	eventually.For(b, limit, "a target on "+cluster, func() error {
		all := ask(b, b.people.Services.List, request).GetServices()
		if len(all) != 1 || all[0].GetSpec().GetGit().GetFolder() != "web" || all[0].GetSpec().GetConfiguration()["color"] != color {
			return fmt.Errorf("has %v", all)
		}
		return nil
	})
}

// A GlobalService that another tool manages is shown, and not deleted.
func TestGlobalServiceOfOthers(t *testing.T) {
	b := newBed(t)
	ask(b, b.people.Repositories.Create, &hubv1.CreateRepositoryRequest{Name: "fleet", Type: "git", Url: b.fleet()})
	ask(b, b.people.GlobalServices.Apply, &hubv1.ApplyGlobalServiceRequest{
		Name: "web", Spec: &hubv1.ServiceSpec{Repository: "fleet", Git: &hubv1.Git{Ref: "main"}}, Management: &hubv1.Management{By: &hubv1.Manager{Tool: "terraform", Id: "default"}},
	})
	b.operate()
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: GitRepository\nmetadata: {name: fleet}\nspec: {url: " + b.fleet() + "}")
	b.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: web, namespace: " + b.namespace + "}\nstringData: {password: swordfish}")
	b.apply(fmt.Sprintf(globalService, b.namespace, "red"))
	g := &v1alpha1.GlobalService{ObjectMeta: meta1("web", b.namespace)}
	b.want(g, "Readonly", "True", "Readonly", "managed by terraform")
	b.deleted(g)
	if have := ask(b, b.people.GlobalServices.Get, &hubv1.GetGlobalServiceRequest{Name: "web"}); have.GetDeleting() || have.GetManagedBy().GetTool() != "terraform" {
		t.Errorf("a global service of others became %v", have)
	}
}

const copied = `apiVersion: deployments.plural.sh/v1alpha1
kind: GlobalService
metadata: {name: everywhere, namespace: %[1]s}
spec:
  cascade: {delete: true}
  serviceRef: {name: web}`

// A GlobalService of a ServiceDeployment has its spec on all clusters but its own, and
// follows it.
func TestGlobalServiceCopiesAService(t *testing.T) {
	b := newBed(t)
	b.operate()
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-2"})
	b.apply(fmt.Sprintf(copied, b.namespace))
	g := &v1alpha1.GlobalService{ObjectMeta: meta1("everywhere", b.namespace)}
	b.want(g, "Synchronized", "False", "NotFound", "ServiceDeployment "+b.namespace+"/web of spec.serviceRef does not exist")
	s := b.declare()
	b.synchronized(g)
	b.target("edge-2", "red")
	own := ask(b, b.people.Services.Get, &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}})
	if own.GetManagedBy().GetTool() != "operator" || own.GetId() != *s.Status.ID {
		t.Errorf("the service that is copied became %v", own)
	}
	b.idle(g)

	b.apply(fmt.Sprintf(service, b.namespace, "blue"))
	b.target("edge-2", "blue")
	b.deleted(g)
	ask(b, b.people.Services.Get, &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}})
}
