package operator_test

import (
	"fmt"
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

const managedNamespace = `apiVersion: deployments.plural.sh/v1alpha1
kind: ManagedNamespace
metadata: {name: shop, namespace: %[1]s}
spec:
  labels: {team: %[2]s}
  target: {tags: {tier: edge}}
  service:
    repositoryRef: {name: fleet}
    git: {ref: main, folder: web}
    configurationRef: {name: web}`

func (b *bed) managed(name string) *hubv1.ManagedNamespace {
	b.Helper()
	return ask(b, b.people.ManagedNamespaces.Get, &hubv1.GetManagedNamespaceRequest{Name: name})
}

func TestManagedNamespace(t *testing.T) {
	b := newBed(t)
	stop := b.operate()
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1", Tags: map[string]string{"tier": "edge"}})
	b.apply(fmt.Sprintf(managedNamespace, b.namespace, "red"))
	n := &v1alpha1.ManagedNamespace{ObjectMeta: meta1("shop", b.namespace)}
	b.want(n, "Synchronized", "False", "NotFound", "GitRepository fleet of spec.service.repositoryRef does not exist")
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: GitRepository\nmetadata: {name: fleet}\nspec: {url: " + b.fleet() + "}")
	b.want(n, "Synchronized", "False", "NotFound", "Secret")
	b.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: web, namespace: " + b.namespace + "}\nstringData: {password: swordfish}")
	b.synchronized(n)

	have := b.managed("shop")
	if have.GetSettings().GetLabels()["team"] != "red" || have.GetSettings().GetTags()["tier"] != "edge" || *n.Status.ID != have.GetId() || have.GetManagedBy().GetTool() != "operator" {
		t.Errorf("managed namespace %v, status %+v", have, n.Status)
	}
	if len(n.Finalizers) != 1 || n.Finalizers[0] != "deployments.plural.sh/managednamespace-protection" {
		t.Errorf("finalizers %q", n.Finalizers)
	}
	eventually.For(t, limit, "a namespace and a service on the cluster", func() error {
		names := map[string]bool{}
		for _, s := range ask(b, b.people.Services.List, &hubv1.ListServicesRequest{Cluster: "edge-1"}).GetServices() {
			names[s.GetName()] = true
		}
		if !names["shop-ns"] || !names["shop-core"] {
			return fmt.Errorf("has %v", names)
		}
		return nil
	})
	b.idle(n)

	b.apply(fmt.Sprintf(managedNamespace, b.namespace, "blue"))
	b.synchronized(n)
	if have := b.managed("shop").GetSettings().GetLabels()["team"]; have != "blue" {
		t.Errorf("the label is %q", have)
	}

	// The hub is away: it waits, and is deleted afterwards.
	b.gate.setDown(true)
	if err := b.Delete(b.Context(), n); err != nil {
		t.Fatal(err)
	}
	b.want(n, "Ready", "False", "Error", "")
	stop()
	b.gate.setDown(false)
	b.operate()
	b.gone(n)
	absent(b, b.people.ManagedNamespaces.Get, &hubv1.GetManagedNamespaceRequest{Name: "shop"})
}

// A ManagedNamespace that exists in the hub is shown, and written only if the object
// asks for that.
func TestManagedNamespaceOfOthers(t *testing.T) {
	b := newBed(t)
	ask(b, b.people.ManagedNamespaces.Apply, &hubv1.ApplyManagedNamespaceRequest{Name: "shop", Settings: &hubv1.ManagedNamespaceSettings{Labels: map[string]string{"team": "people"}}})
	b.operate()
	text := "apiVersion: deployments.plural.sh/v1alpha1\nkind: ManagedNamespace\nmetadata: {name: shop, namespace: " + b.namespace + "%s}\nspec: {labels: {team: git}}"
	b.apply(fmt.Sprintf(text, ""))
	n := &v1alpha1.ManagedNamespace{ObjectMeta: meta1("shop", b.namespace)}
	b.want(n, "Readonly", "True", "Readonly", "")
	if have := b.managed("shop").GetSettings().GetLabels()["team"]; have != "people" {
		t.Errorf("the label of others is %q", have)
	}
	b.apply(fmt.Sprintf(text, ", annotations: {axle-cd.github.io/adopt: 'true'}"))
	b.want(n, "Readonly", "False", "Readonly", "")
	if have := b.managed("shop"); have.GetSettings().GetLabels()["team"] != "git" || have.GetManagedBy().GetTool() != "operator" {
		t.Errorf("after adoption: %v", have)
	}
	b.deleted(n)
	absent(b, b.people.ManagedNamespaces.Get, &hubv1.GetManagedNamespaceRequest{Name: "shop"})
}
