package operator_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

const clusterSync = `apiVersion: deployments.plural.sh/v1alpha1
kind: ClusterSync
metadata: {name: edge, namespace: %[1]s}
spec:
  tags: {tier: edge}
  reconciliation: {interval: 200ms}
  clusterSpec:
    metadata: {name: "c-{{ cluster.handle }}"%[2]s}
    spec: {handle: "{{ cluster.handle }}", tags: '{"tier": "{{ cluster.tags.tier }}", "zone": "%[3]s"}', metadata: '{"of": {{ cluster.name | toJson }}}', protect: "true"}`

func TestClusterSync(t *testing.T) {
	b := newBed(t)
	for name, tier := range map[string]string{"edge-1": "edge", "edge-2": "edge", "lab-1": "lab"} {
		ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: name, Tags: map[string]string{"tier": tier}})
	}
	stop := b.operate()
	made := func(what string, names ...string) {
		t.Helper()
		eventually.For(t, limit, what, func() error {
			list := &v1alpha1.ClusterList{}
			if err := b.List(b.Context(), list, client.InNamespace(b.namespace)); err != nil {
				return err
			}
			var have []string
			for _, c := range list.Items {
				have = append(have, c.Name)
			}
			if strings.Join(have, " ") != strings.Join(names, " ") {
				return fmt.Errorf("has %q", have)
			}
			return nil
		})
	}
	b.apply(fmt.Sprintf(clusterSync, b.namespace, "", "a"))
	s := &v1alpha1.ClusterSync{ObjectMeta: meta1("edge", b.namespace)}
	b.synchronized(s)
	made("a Cluster for each selected cluster", "c-edge-1", "c-edge-2")
	c := &v1alpha1.Cluster{ObjectMeta: meta1("c-edge-1", b.namespace)}
	b.synchronized(c)
	if c.Spec.Tags["zone"] != "a" || c.Spec.Protect == nil || !*c.Spec.Protect || !strings.Contains(string(c.Spec.Metadata.Raw), `"edge-1"`) {
		t.Errorf("the Cluster has %+v", c.Spec)
	}
	if have := ask(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "edge-1"}); have.GetTags()["zone"] != "a" {
		t.Errorf("the hub has %v", have.GetTags())
	}

	// Checks that find nothing new write nothing, and read one list.
	version, calls := c.ResourceVersion, b.gate.count("Clusters/List")
	eventually.For(t, limit, "three more checks", func() error {
		if n := b.gate.count("Clusters/List") - calls; n < 3 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	if err := b.Get(b.Context(), client.ObjectKeyFromObject(c), c); err != nil || c.ResourceVersion != version {
		t.Errorf("written without a change: %v, %s and %s", err, c.ResourceVersion, version)
	}

	// A new template, a cluster that is not selected any more, and what was edited.
	b.apply(fmt.Sprintf(clusterSync, b.namespace, "", "b"))
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-3", Tags: map[string]string{"tier": "edge"}})
	made("the new cluster", "c-edge-1", "c-edge-2", "c-edge-3")
	eventually.For(t, limit, "the new tag", func() error {
		if err := b.Get(b.Context(), client.ObjectKeyFromObject(c), c); err != nil || c.Spec.Tags["zone"] != "b" {
			return fmt.Errorf("%v, %v", err, c.Spec.Tags)
		}
		return nil
	})
	ask(b, b.people.Clusters.Delete, &hubv1.DeleteClusterRequest{Name: "edge-3", Management: &hubv1.Management{TakeOver: true}})
	made("the cluster that is gone", "c-edge-1", "c-edge-2")

	// What others made is left alone, and what cannot be rendered keeps what it has.
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: Cluster\nmetadata: {name: d-edge-1, namespace: " + b.namespace + "}\nspec: {handle: lab-1}")
	b.apply(strings.ReplaceAll(fmt.Sprintf(clusterSync, b.namespace, "", "b"), "c-{{", "d-{{"))
	b.want(s, "Synchronized", "False", "Error", "was not made by this object")
	made("the others", "c-edge-1", "d-edge-1", "d-edge-2")
	b.apply(strings.ReplaceAll(fmt.Sprintf(clusterSync, b.namespace, "", "b"), "c-{{ cluster.handle", "{{ cluster.handle | no_such"))
	b.want(s, "Synchronized", "False", "Error", "spec.clusterSpec.metadata.name")
	made("all of them still", "c-edge-1", "d-edge-1", "d-edge-2")
	b.apply(fmt.Sprintf(clusterSync, b.namespace, ", namespace: "+b.foreign, "b"))
	b.want(s, "Synchronized", "False", "Error", "admin namespace")

	// The hub is away: the objects go, and the clusters stay.
	b.gate.setDown(true)
	b.deleted(s)
	made("what others made", "d-edge-1")
	b.gate.setDown(false)
	ask(b, b.people.Clusters.Get, &hubv1.GetClusterRequest{Name: "edge-1"})
	if err := b.Get(b.Context(), client.ObjectKeyFromObject(c), c); !apierrors.IsNotFound(err) {
		t.Errorf("c-edge-1: %v", err)
	}
	stop()
}
