package readiness

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/kubeobj"
)

// unowned is an inventory of nothing.
type unowned struct{}

func (unowned) Services() []string                { return nil }
func (unowned) Objects(string) []kubeobj.Expected { return nil }

// Records of Helm whose metadata somebody made as large as etcd takes them are in memory one at a
// time: at every tenth the API server looks at the memory of its reader, which is this process.
func TestReleasesOfAnyoneTakeLittle(t *testing.T) {
	const records, size = 100, 1 << 20
	inUse := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	record := `{"metadata":{"namespace":"shop","name":"a","labels":{"owner":"helm","name":"web","status":"deployed","version":"1"},"annotations":{"a":"` + strings.Repeat("x", size) + `"}}}`
	before, most := inUse(), 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/api/v1/secrets" {
			_, _ = io.WriteString(w, `{"items":[]}`)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[`+record)
		for n := range records - 1 {
			if _, err := io.WriteString(w, ","+record); err != nil {
				return // who read enough has gone
			}
			if n%10 == 0 {
				most = max(most, inUse()-before)
			}
		}
		_, _ = io.WriteString(w, "]}")
	}))
	defer api.Close()
	a, err := New(&rest.Config{Host: api.URL, QPS: -1}, unowned{}, nil).ask(Viewer{User: "ann@example.com"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if live, err := a.liveReleases(t.Context()); err != nil || len(live) != 1 || live[0].name != "web" {
		t.Errorf("%d releases, %v", len(live), err)
	}
	if most > 24*size {
		t.Errorf("%d records of %d MiB take %d MiB at once", records, size>>20, most>>20)
	}
}
