package operator_test

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

func provider(name, spec string) string {
	return "apiVersion: deployments.plural.sh/v1alpha1\nkind: Provider\nmetadata: {name: " + name + "}\nspec: " + spec
}

// made is a Cluster object with a Provider.
func (b *bed) made(name, namespace, spec string) *v1alpha1.Cluster {
	b.Helper()
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Cluster\nmetadata: {name: " + name + ", namespace: " + namespace + "}\nspec: " + spec)
	return &v1alpha1.Cluster{ObjectMeta: meta1(name, namespace)}
}

// A Provider is the template of its name. Clusters that name it are made from that, and their
// fields are its variables, or are refused by name.
func TestClustersOfAProvider(t *testing.T) {
	b := newBed(t)
	b.operate()
	b.apply(provider("azure", "{cloud: azure, name: aks}"))
	b.want(&v1alpha1.Provider{ObjectMeta: meta1("azure", "")}, "Synchronized", "False", "Error", "there is no cluster template for azure yet; templates are for aws (eks) and gcp (gke)")
	b.apply(provider("aws", "{cloud: aws, name: play, namespace: capa-system, cloudSettings: {aws: {name: keys, namespace: capa-system}}}"))
	p := &v1alpha1.Provider{ObjectMeta: meta1("aws", "")}
	b.want(p, "Synchronized", "False", "NotFound", "the hub has no cluster template play: an administrator registers it, with axle clusters templates apply play")
	b.templated()
	b.want(p, "Ready", "True", "Ready", "")
	if got := fmt.Sprint(p.Status.NotActing); got != "[spec.cloudSettings spec.namespace]" {
		t.Errorf("not acting: %s", got)
	}
	b.idle(p)

	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {name: shop}")
	spec := "{handle: shopping, providerRef: {name: aws}, projectRef: {name: shop}, cloud: aws, cloudSettings: {aws: {region: eu-central-1}}, tags: {tier: prod}, version: %s, nodePools: [{name: a, instanceType: m6i.large, minSize: 1, maxSize: 3%s}]}"
	o := b.made("shop-1", b.namespace, fmt.Sprintf(spec, "'1.37.0'", ""))
	b.want(o, "Ready", "False", "Ready", "the cluster is Provisioning")
	have := ask(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "shopping"})
	if have.GetProject() != "shop" || have.GetTags()["tier"] != "prod" || have.GetOrigin().GetTemplate() != "play" || o.Status.ClusterAPI.Template != "play" || len(o.Status.NotActing) > 0 {
		t.Errorf("the hub has %v, the status is %+v", have, o.Status)
	}
	if got, want := b.variable("shopping", "region"), "eu-central-1"; got != want {
		t.Errorf("the region is %v", got)
	}
	if got := fmt.Sprint(b.variable("shopping", "nodePools")); got != "[map[count:2 instanceType:m6i.large maxSize:3 minSize:1 name:a]]" {
		t.Errorf("the pools are %s", got)
	}
	b.idle(o)
	b.made("shop-1", b.namespace, fmt.Sprintf(spec, "v1.38.0", ""))
	eventually.For(t, limit, "the version follows", func() error {
		if got := b.variable("shopping", "version"); got != "v1.38.0" {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	})
	b.made("shop-1", b.namespace, fmt.Sprintf(spec, "v1.38.0", ", labels: {a: b}"))
	b.want(o, "Synchronized", "False", "Error", "variables.nodePools.0.labels: is not a property of node pools of the template")
	b.made("shop-1", b.namespace, fmt.Sprintf(spec, "v1.38.0", ", cloudSettings: {aws: {launchTemplateId: lt-1}}"))
	b.want(o, "Synchronized", "False", "Error", "variables.nodePools.0.launchTemplateId: is not a property of node pools of the template")
	b.want(b.made("other-cloud", b.namespace, "{providerRef: {name: aws}, cloud: gcp}"), "Synchronized", "False", "Error", "spec.cloud is gcp, and Provider aws is of aws")

	// The object of a cluster that others connected makes nothing of it.
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1"})
	b.want(b.made("edge-1", b.namespace, "{providerRef: {name: aws}}"), "Synchronized", "False", "Error", "was not made from a template")

	b.made("shop-1", b.namespace, fmt.Sprintf(spec, "v1.38.0", ""))
	b.synchronized(o)
	if err := b.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	b.want(o, "Ready", "False", "Error", "axle clusters destroy shopping --take-over")
	b.want(o, "Ready", "False", "Error", `with the annotation axle-cd.github.io/detach: "true"`)
	detached := o.DeepCopy()
	detached.Annotations["axle-cd.github.io/detach"] = "true"
	if err := b.Patch(t.Context(), detached, client.MergeFrom(o)); err != nil {
		t.Fatal(err)
	}
	b.gone(o)
	absent(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "shopping"})
}

// A Cluster with a Provider has the rights of its namespace: a tenant gets nothing of another
// project, and of two objects of one name the first has the cluster.
func TestAClusterOfAProviderOfATenant(t *testing.T) {
	b := newBed(t)
	b.templated()
	lab := b.cluster.Namespace(t)
	b.opened(lab)
	ask(b, b.people.ServiceAccounts.Create, &hubv1.CreateServiceAccountRequest{Name: "lab"})
	ask(b, b.people.Bindings.Create, &hubv1.CreateBindingRequest{SubjectKind: "service_account", Subject: "lab", Actions: []string{"read", "write", "create"}, Place: &hubv1.Place{Project: "lab"}})
	b.issue("lab", lab)
	b.apply(credentials("lab", lab, lab))
	b.apply(provider("aws", "{cloud: aws, name: play}"))
	for _, name := range []string{"shop", "lab"} {
		b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Project\nmetadata: {name: " + name + "}\nspec: {name: " + name + "}")
	}
	b.operate()
	first := b.made("taken", b.namespace, "{providerRef: {name: aws}, projectRef: {name: shop}}")
	b.synchronized(first)
	b.want(b.made("mine", lab, "{providerRef: {name: aws}, projectRef: {name: lab}}"), "Synchronized", "False", "Error", "template: play is not for project lab")
	b.unwritten(b.made("theirs", lab, "{providerRef: {name: aws}, projectRef: {name: shop}}"))
	b.unwritten(b.made("nobodys", lab, "{providerRef: {name: aws}}"))
	b.want(b.made("none", lab, "{providerRef: {name: none}, projectRef: {name: lab}}"), "Synchronized", "False", "NotFound", "Provider none of spec.providerRef does not exist")
	b.unwritten(b.made("taken", lab, "{providerRef: {name: aws}, projectRef: {name: lab}}"))
	for _, name := range []string{"mine", "theirs", "nobodys", "none"} {
		absent(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: name})
	}
	if have := ask(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "taken"}); have.GetProject() != "shop" || have.GetId() != *first.Status.ID {
		t.Errorf("the hub has %v", have)
	}
}
