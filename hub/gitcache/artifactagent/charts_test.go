package artifactagent_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/test/chartserver"
	"github.com/axle-cd/axle/test/registryserver"
)

func newCharts(t *testing.T) *chartserver.Server {
	t.Helper()
	s := chartserver.Start(false)
	t.Cleanup(s.Close)
	return s
}

func publish(s *chartserver.Server, version, text string) {
	s.Publish(chartserver.Chart{Name: "app", Version: version, Files: map[string]string{"values.yaml": text}})
}

func TestAChartIsFollowed(t *testing.T) {
	t.Parallel()
	s := newCharts(t)
	publish(s, "1.0.0", "one")
	publish(s, "1.1.0", "two")
	publish(s, "2.0.0-rc.1", "three")
	w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL()}, record.Credentials{})
	newest, minor, exact := w.track("", "app"), w.track("1.0.x", "app"), w.track("2.0.0-rc.1", "app")
	h := w.revision(newest, "1.1.0")
	want := map[string]string{"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.1.0\n", "values.yaml": "two"}
	if diff := cmp.Diff(want, w.files(h)); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	if h.Entry != "" || h.Size == 0 || h.Message != "app 1.1.0" || h.CommittedAt.IsZero() {
		t.Errorf("head is %+v", h)
	}
	w.revision(minor, "1.0.0")
	w.revision(exact, "2.0.0-rc.1")

	publish(s, "1.0.7", "four")
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	w.revision(minor, "1.0.7")
	if n := len(s.Requests("/app-1.1.0.tgz")); n != 1 {
		t.Errorf("a chart that did not change was fetched %d times", n)
	}
	before := len(s.Requests("/index.yaml"))
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	if all := s.Requests("/index.yaml"); len(all) != before+1 || all[before].Status != 304 {
		t.Errorf("an index that did not change: %+v", all[before:])
	}
}

// TestChartsOfAnIndexInARegistry has an index over https whose charts lie in a registry, as
// Bitnami's are.
func TestChartsOfAnIndexInARegistry(t *testing.T) {
	t.Parallel()
	s := chartserver.Start(true)
	t.Cleanup(s.Close)
	registry := registryserver.Start(true)
	t.Cleanup(registry.Close)
	a := chartArtifact("app", "1.0.0", "one")
	manifest := push(t, registry, "charts/app", "1.0.0", a)
	push(t, registry, "charts/app", "folder", registryserver.Artifact{Layers: []registryserver.Layer{{Type: "application/vnd.oci.image.layer.v1.tar+gzip", Data: folder("Chart.yaml", "name: app\nversion: 1.0.0\n")}}})
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.HTTP().Certificate().Raw}))
	sum := sha256.Sum256(a.Layers[0].Data)
	for name, tt := range map[string]struct{ ref, digest, err string }{
		"by tag":          {"charts/app:1.0.0", hex.EncodeToString(sum[:]), ""},
		"by version":      {"charts/app", "-", ""},
		"by digest":       {"charts/app@" + manifest, "-", ""},
		"of the manifest": {"charts/app:1.0.0", manifest, ""},
		"another":         {"charts/app:1.0.0", strings.Repeat("0", 64), "not what the index promises"},
		"none":            {"charts/none:1.0.0", "-", "does not exist"},
		"no chart":        {"charts/app:folder", "-", "is not a chart"},
	} {
		s.Publish(chartserver.Chart{Name: strings.ReplaceAll(name, " ", "-"), Version: "1.0.0", URL: registry.URL(tt.ref), Digest: tt.digest})
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL()}, record.Credentials{CA: ca})
			source := w.track("", strings.ReplaceAll(name, " ", "-"))
			if tt.err != "" {
				w.failing(source, tt.err)
				return
			}
			if got := w.files(w.revision(source, "1.0.0")); got["values.yaml"] != "one" {
				t.Errorf("content is %v", got)
			}
		})
	}
}
