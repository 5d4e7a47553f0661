package render_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/render/rendertest"
	"github.com/axle-cd/axle/test/bin"
)

// extraCharts names a folder of charts that the benchmark renders too: those that no module has,
// such as kube-prometheus-stack.
const extraCharts = "AXLE_BENCH_CHARTS"

// BenchmarkCharts renders the public charts and kustomizations of the goldens, with their own
// values, by axle-agent render, by a render child and by helm or kustomize, one after the
// other, and compares their processor time. Of each, the least of the runs counts: other
// programs only add.
func BenchmarkCharts(b *testing.B) {
	all := readGoldenCases(b)
	modules := fetchModules(b, all.Modules)
	tools := buildReference(b).bin
	child, err := bin.Path(b.Context(), "axle-render", bin.Options{})
	if err != nil {
		b.Fatal(err)
	}
	agent, err := bin.Path(b.Context(), "axle-agent", bin.Options{})
	if err != nil {
		b.Fatal(err)
	}
	uses := map[string][]*chartUse{}
	add := func(of string, c goldenCase, files rendertest.Files, folder string) {
		root := onDisk(b, files)
		if err := os.Mkdir(filepath.Join(root, ".git"), 0o755); err != nil { // overlays refer to their bases
			b.Fatal(err)
		}
		u := &chartUse{goldenCase: c, files: files, variant: variant{name: withoutValues, folder: folder}, dir: filepath.Join(root, folder)}
		u.theirs = []string{filepath.Join(tools, "helm"), "template", goldenRelease, u.dir, "--namespace", goldenNamespace, "--include-crds", "--kube-version", goldenKubernetes}
		if c.Helm == "" {
			u.theirs = []string{filepath.Join(tools, "kustomize"), "build", "--load-restrictor", "LoadRestrictionsNone", u.dir}
		}
		u.agent = []string{agent, "render", u.dir, "--kube-version", goldenKubernetes, "--render-binary", child}
		for _, v := range c.APIVersions {
			u.agent = append(u.agent, "--api-versions", v)
			if c.Helm != "" {
				u.theirs = append(u.theirs, "--api-versions", v)
			}
		}
		if exec.CommandContext(b.Context(), u.theirs[0], u.theirs[1:]...).Run() == nil { // some need values
			uses[of] = append(uses[of], u)
		}
	}
	for _, c := range all.Cases {
		switch {
		case c.Module == "" || strings.Contains(c.Helm+c.Root, "testdata") || c.Upgrade:
		case c.Helm != "":
			add("helm", c, c.files(b, modules), chartFolder)
		default:
			add("kustomize", c, c.files(b, modules), c.Kustomize[0])
		}
	}
	if folder := os.Getenv(extraCharts); folder != "" {
		charts, err := os.ReadDir(folder)
		if err != nil {
			b.Fatal(err)
		}
		for _, chart := range charts {
			c := goldenCase{Name: chart.Name(), Module: "extra", Helm: chart.Name()}
			add("extra", c, c.files(b, map[string]string{"extra": folder}), chartFolder)
		}
	}
	if len(uses["helm"]) < 8 || len(uses["kustomize"]) < 8 {
		b.Fatalf("%d charts and %d kustomizations", len(uses["helm"]), len(uses["kustomize"]))
	}
	for b.Loop() {
		for _, some := range uses {
			for _, u := range some {
				u.run(b)
			}
		}
	}
	for of, some := range uses {
		var ours, theirs []float64
		for _, u := range some {
			b.Logf("%-10s %-24s theirs %v, agent %v (%.2f), child %v (%.2f)", of, u.Name, u.least[0], u.least[1], u.times(1), u.least[2], u.times(2))
			ours, theirs = append(ours, u.times(1)), append(theirs, u.times(2))
		}
		slices.Sort(ours)
		slices.Sort(theirs)
		b.ReportMetric(float64(len(some)), of+"/input")
		b.ReportMetric(ours[len(ours)/2], of+"/agent")
		b.ReportMetric(ours[len(ours)-1], of+"/agent-most")
		b.ReportMetric(theirs[len(theirs)/2], of+"/child")
		b.ReportMetric(theirs[len(theirs)-1], of+"/child-most")
	}
}

// chartUse is a chart or a kustomization with what rendering it took.
type chartUse struct {
	goldenCase
	variant
	files         rendertest.Files
	dir           string
	theirs, agent []string
	least         [3]time.Duration // helm or kustomize, agent, child
}

// times is how often the time of helm or kustomize another one took.
func (u *chartUse) times(of int) float64 { return float64(u.least[of]) / float64(u.least[0]) }

// run renders the chart once by each.
func (u *chartUse) run(b *testing.B) {
	b.Helper()
	child := rendertest.Start(b)
	result := child.Pass(u.files, u.begin(b, u.variant))
	if failed := result.GetFailure(); failed != nil || len(result.GetObjects()) == 0 {
		b.Fatalf("%s: %d objects, %v", u.Name, len(result.GetObjects()), failed)
	}
	now := [3]time.Duration{2: child.Usage().CPU}
	child.CloseInput()
	for i, line := range [][]string{u.theirs, u.agent} {
		command := exec.CommandContext(b.Context(), line[0], line[1:]...)
		if out, err := command.Output(); err != nil || len(out) == 0 {
			b.Fatalf("%s: %s: %v, %d bytes", u.Name, line[0], err, len(out))
		}
		now[i] = used(command).CPU
	}
	for i, d := range now {
		if u.least[i] == 0 || d < u.least[i] {
			u.least[i] = d
		}
	}
}
