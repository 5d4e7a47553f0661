package install_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/pg"
)

func helmProgram(t *testing.T) string {
	t.Helper()
	program, err := bin.Path(t.Context(), "helm", bin.Options{Module: "test/goldens", Package: "helm.sh/helm/v4/cmd/helm"})
	must(t, err)
	return program
}

func TestMain(m *testing.M) { pg.Main(m) }

// Stock Helm has nothing to say against the chart, whose version is that of this tree.
func TestStockHelmLints(t *testing.T) {
	files, err := filepath.Glob(examples + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		out, err := exec.CommandContext(t.Context(), helmProgram(t), "lint", "--strict", "../../deploy/charts/axle", "--values", file).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
	var chart struct{ Version, AppVersion string }
	text, err := os.ReadFile("../../deploy/charts/axle/Chart.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &chart)
	}
	if err != nil || chart.AppVersion != buildinfo.Version || chart.Version != buildinfo.Version {
		t.Errorf("%v: the chart is %+v, the tree is %s", err, chart, buildinfo.Version)
	}
}

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
