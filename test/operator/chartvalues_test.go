package operator_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// A Secret of chart values becomes a secret of the service: its changes follow, and nothing
// that everybody may read holds one.
func TestChartValuesOfASecret(t *testing.T) {
	b := newBed(t)
	b.operate()
	ask(b, b.people.Clusters.Create, &hubv1.CreateClusterRequest{Name: "edge-1"})
	b.apply("apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\nmetadata: {name: web, namespace: " + b.namespace + "}\n" +
		"spec: {cluster: edge-1, helm: {url: 'https://charts.example', chart: web, values: {color: red}, valuesFrom: {name: values}}}")
	s := &v1alpha1.ServiceDeployment{ObjectMeta: meta1("web", b.namespace)}
	b.want(s, "Synchronized", "False", "NotFound", "Secret "+b.namespace+"/values of spec.helm.valuesFrom does not exist")
	values := &corev1.Secret{ObjectMeta: meta1("values", b.namespace), StringData: map[string]string{"token": "canary-0"}}
	if err := b.Create(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	b.want(s, "Synchronized", "False", "Error", "token of Secret "+b.namespace+"/values is no YAML map of values")
	// of returns what the hub shows of the values: something that changes with them.
	of := func(other string) (hash string) {
		t.Helper()
		eventually.For(b, limit, "other values of the Secret", func() error {
			config := ask(b, b.people.Services.Config, &hubv1.GetServiceConfigRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}})
			for _, v := range config.GetValues() {
				if layer := v.GetLayers()[0]; v.GetKey() == "helm.valuesFrom" && layer.GetSecret() && layer.GetValue() == "" {
					hash = layer.GetHash()
				}
			}
			if hash == "" || hash == other {
				return fmt.Errorf("values %v", config)
			}
			return nil
		})
		return hash
	}
	values.Data, values.StringData = map[string][]byte{"b.yaml": []byte("password: canary-1\n"), "a.yaml": []byte("password: canary-0\nsize: 1\n")}, nil
	if err := b.Update(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	b.synchronized(s)
	first := of("")
	values.Data["b.yaml"] = []byte("password: canary-2\n")
	if err := b.Update(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	of(first)
	b.rest()
	b.synchronized(s)
	if err := b.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		t.Fatal(err)
	}
	read := ask(b, b.people.Services.Get, &hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge-1", Name: "web"}})
	if text := fmt.Sprint(read, s); strings.Contains(text, "canary") || !strings.Contains(read.GetSpec().GetHelm().GetValues(), "color") {
		t.Errorf("the service and its object are %s", text)
	}
}
