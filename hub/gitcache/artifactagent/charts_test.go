package artifactagent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/test/chartserver"
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
