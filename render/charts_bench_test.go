package render_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/render/rendertest"
	"github.com/axle-cd/axle/test/bin"
)

// BenchmarkCharts renders the public charts of the goldens, with their own values, by axle-agent
// render, by a render child and by helm template, one after the other, and compares their
// processor time. Of each, the least of the runs counts: other programs only add.
func BenchmarkCharts(b *testing.B) {
	all := readGoldenCases(b)
	modules := fetchModules(b, all.Modules)
	helm := filepath.Join(buildReference(b).bin, "helm")
	child, err := bin.Path(b.Context(), "axle-render", bin.Options{})
	if err != nil {
		b.Fatal(err)
	}
	agent, err := bin.Path(b.Context(), "axle-agent", bin.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var charts []*chartUse
	for _, c := range all.Cases {
		if c.Helm == "" || c.Module == "" || strings.Contains(c.Helm, "testdata") || c.Upgrade {
			continue
		}
		files := c.files(b, modules)
		u := &chartUse{goldenCase: c, files: files, dir: filepath.Join(onDisk(b, files), chartFolder)}
		u.helm = []string{helm, "template", goldenRelease, u.dir, "--namespace", goldenNamespace, "--include-crds", "--kube-version", goldenKubernetes}
		u.agent = []string{agent, "render", u.dir, "--kube-version", goldenKubernetes, "--render-binary", child}
		for _, v := range c.APIVersions {
			u.helm, u.agent = append(u.helm, "--api-versions", v), append(u.agent, "--api-versions", v)
		}
		if exec.CommandContext(b.Context(), helm, u.helm[1:]...).Run() == nil { // some need values
			charts = append(charts, u)
		}
	}
	if len(charts) < 8 {
		b.Fatalf("%d charts", len(charts))
	}
	for b.Loop() {
		for _, u := range charts {
			u.run(b)
		}
	}
	var ours, theirs []float64
	for _, u := range charts {
		b.Logf("%-20s helm %v, agent %v, child %v", u.Name, u.least[0], u.least[1], u.least[2])
		ours, theirs = append(ours, float64(u.least[1])/float64(u.least[0])), append(theirs, float64(u.least[2])/float64(u.least[0]))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	b.ReportMetric(float64(len(charts)), "charts/input")
	b.ReportMetric(ours[len(ours)/2], "x/agent")
	b.ReportMetric(ours[len(ours)-1], "x/agent-most")
	b.ReportMetric(theirs[len(theirs)/2], "x/child")
	b.ReportMetric(theirs[len(theirs)-1], "x/child-most")
}

// chartUse is a chart with what rendering it took.
type chartUse struct {
	goldenCase
	files       rendertest.Files
	dir         string
	helm, agent []string
	least       [3]time.Duration // helm, agent, child
}

// run renders the chart once by each.
func (u *chartUse) run(b *testing.B) {
	b.Helper()
	child := rendertest.Start(b)
	result := child.Pass(u.files, u.begin(b, variant{name: withoutValues}))
	if failed := result.GetFailure(); failed != nil || len(result.GetObjects()) == 0 {
		b.Fatalf("%s: %d objects, %v", u.Name, len(result.GetObjects()), failed)
	}
	now := [3]time.Duration{2: child.Usage().CPU}
	child.CloseInput()
	for i, line := range [][]string{u.helm, u.agent} {
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
