package operator_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/eventually"
)

// A ConfigMap of chart values is read with the object, and each change of it follows.
func TestChartValuesOfAConfigMap(t *testing.T) {
	b := newBed(t)
	b.operate()
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1"})
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\nmetadata: {name: web, namespace: " + b.namespace + "}\n" +
		"spec: {cluster: edge-1, helm: {url: 'https://charts.example', chart: web, values: {color: red}, valuesConfigMapRef: {name: values, key: all}}}")
	s := &v1alpha1.ServiceDeployment{ObjectMeta: meta1("web", b.namespace)}
	b.want(s, "Synchronized", "False", "NotFound", "ConfigMap "+b.namespace+"/values of spec.helm.valuesConfigMapRef does not exist")
	values := &corev1.ConfigMap{ObjectMeta: meta1("values", b.namespace), Data: map[string]string{"all": "color: blue\nsize: 1\n"}}
	if err := b.Create(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	b.synchronized(s)
	has := func(want string) {
		t.Helper()
		eventually.For(b, limit, "the values of the ConfigMap", func() error {
			have := ask(b, b.people.Services.Get, &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}})
			if got := have.GetSpec().GetHelm().GetValues(); !strings.Contains(got, "color: red") || !strings.Contains(got, want) {
				return fmt.Errorf("values %q", got)
			}
			return nil
		})
	}
	has("size: 1")
	values.Data["all"] = "color: blue\nsize: 2\n"
	if err := b.Update(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	has("size: 2")
}
