package artifactagent_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/chartserver"
)

// indexed is a row of indexes.yaml.
type indexed struct {
	outcome
	Chart   string `json:"chart"`
	Version string `json:"version"`
	Index   string `json:"index"`
}

// shown is the version of a chart that the helm program takes.
func shown(t *testing.T, program, repository, chart, version string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), program, "show", "chart", chart, "--repo", repository, "--version", version)
	c.Env = []string{"HOME=" + dir, "XDG_CACHE_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir}
	out, err := c.CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	for line := range strings.SplitSeq(string(out), "\n") {
		if v, ok := strings.CutPrefix(line, "version: "); ok {
			return v, nil
		}
	}
	return "", errors.New("no version in " + string(out))
}

// TestIndexesOfTheField reads every index of test/field/charts by the helm program, since its
// package needs more than this module has, and by the hub.
func TestIndexesOfTheField(t *testing.T) {
	t.Parallel()
	program, err := bin.Path(t.Context(), "helm", bin.Options{Module: "test/goldens", Package: "helm.sh/helm/v4/cmd/helm"})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range fieldRows[indexed](t, "indexes.yaml", 30) {
		t.Run(row.Branch, func(t *testing.T) {
			t.Parallel()
			if row.Chart == "" {
				row.Chart = "app"
			}
			s := newCharts(t)
			for _, version := range []string{"1.0.0", "1.1.0", "1.2.0-rc.1", "1.3.0+build.7"} {
				s.Publish(chartserver.Chart{Name: "app", Version: version})
			}
			s.SetIndex([]byte(row.Index))
			version, err := shown(t, program, s.URL(), row.Chart, row.Version)
			if err == nil && version != row.Helm || err != nil && !strings.Contains(err.Error(), row.Helm) {
				t.Errorf("Helm: %q, %v; the row has %q", version, err, row.Helm)
			}
			took := func(outcome string) string {
				if outcome[0] >= '0' && outcome[0] <= '9' {
					return outcome
				}
				return "" // the texts of the refusals are each one's own
			}
			if took(row.Helm) != took(row.Axle) && row.Why == "" {
				t.Error("the columns differ, and the row has no reason")
			}
			w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL()}, record.Credentials{})
			source := w.track(row.Version, row.Chart)
			if took(row.Axle) != "" {
				w.revision(source, row.Axle)
				return
			}
			if err := w.refresh(); err == nil {
				w.failing(source, row.Axle)
			} else if !strings.Contains(err.Error(), row.Axle) {
				t.Errorf("axle: %v; the row has %q", err, row.Axle)
			}
		})
	}
}
