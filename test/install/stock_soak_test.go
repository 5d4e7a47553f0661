//go:build soak

package install_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Stock helm install, with its hook, and axle install give the same objects.
func TestStockHelmGivesTheSameObjects(t *testing.T) {
	sideBySide(t)
	b := newBed(t)
	kubeconfig := b.Kubeconfig()
	b.helm("install", "axle", "../../deploy/charts/axle", "--namespace", "axle", "--create-namespace", "--values", b.values, "--wait")
	stock := b.objects()
	b.must("uninstall", "--kubeconfig", kubeconfig, "--force", "--yes", "--delete-data")
	b.eventually("all is gone", func() string {
		return b.kubectl("get", "pods,pvc", "-n", "axle", "-o", "name")
	}, "")
	b.must("install", "--kubeconfig", kubeconfig, "--values", b.values)
	if diff := cmp.Diff(stock, b.objects()); diff != "" {
		t.Errorf("stock Helm and axle differ:\n%s", diff)
	}
	if len(stock) < 20 {
		t.Errorf("only %d objects were compared", len(stock))
	}
}

// objects are those that carry the marks of the release, without what every cluster
// says anew.
func (b *bed) objects() map[string]map[string]any {
	b.t.Helper()
	out := b.kubectl("get", "all,serviceaccounts,clusterroles,clusterrolebindings,roles,rolebindings,networkpolicies,poddisruptionbudgets,configmaps,secrets", "-A", "-l", "app.kubernetes.io/managed-by=Helm", "-o", "yaml")
	var list unstructured.UnstructuredList
	var plain map[string]any
	if err := yaml.Unmarshal([]byte(out), &plain); err != nil {
		b.t.Fatal(err)
	}
	list.SetUnstructuredContent(plain)
	objects := map[string]map[string]any{}
	for _, o := range list.Items {
		if strings.HasPrefix(o.GetName(), "sh.helm.") {
			continue
		}
		for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		for _, field := range [][]string{{"status"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"metadata", "annotations", "deployment.kubernetes.io/revision"}} {
			unstructured.RemoveNestedField(o.Object, field...)
		}
		objects[o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName()] = o.Object
	}
	return objects
}
