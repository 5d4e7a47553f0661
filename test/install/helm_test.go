package install_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

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
