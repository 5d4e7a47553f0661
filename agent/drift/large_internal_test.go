package drift

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/kubepage"
	"github.com/axle-cd/axle/internal/taken"
)

// Pods that somebody made as large as etcd takes them cost the agent little: a hundred of
// them took gigabytes of its memory.
func TestPodsOfAnyoneTakeLittle(t *testing.T) {
	pod := `{"metadata":{"name":"a"},"spec":{"containers":[{"env":[{"name":"A"}` + strings.Repeat(`,{"name":"A"}`, 100_000) + `]}]}}`
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items":[`+pod)
		for range 99 {
			if _, err := io.WriteString(w, ","+pod); err != nil {
				return // who read enough has gone
			}
		}
		_, _ = io.WriteString(w, "]}")
	}))
	defer api.Close()
	client, err := kubepage.NewClient(&rest.Config{Host: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	bytes := taken.By(func() { _, err = few(t.Context(), client.Get().AbsPath("/api/v1/pods")) })
	if !errors.Is(err, bounded.ErrTooLarge) || bytes > 128<<20 {
		t.Errorf("%d MiB of pods took %d MiB: %v", len(pod)*100>>20, bytes>>20, err)
	}
}

func TestAnObjectThatIsABombIsNotJudged(t *testing.T) {
	s := &stream{w: &Watcher{cfg: Config{}}}
	got, err := s.judge([]byte(`{"kind":"Job","apiVersion":"batch/v1","spec":[[]` + strings.Repeat(",[]", 1<<20) + `]}`))
	if err != nil || got.Status != health.Unknown || !strings.Contains(got.Message, "its health is not judged: it is larger in memory than is allowed") {
		t.Errorf("%v, %v", got, err)
	}
}

// FuzzObjects reads any text as an object of a kind that is judged as a whole, and of one of which
// the metadata count: what is kept of it is bounded, whoever wrote it.
func FuzzObjects(f *testing.F) {
	f.Add([]byte(`{"kind":"Job","apiVersion":"batch/v1","metadata":{"namespace":"ns","name":"a","deletionTimestamp":"2026-01-01T00:00:00Z"}}`))
	f.Add([]byte(`{"metadata":{"name":"a","annotations":{"b":"c"},"managedFields":[{"manager":"kubectl","fieldsV1":{"f:spec":{}}}]},"status":{"conditions":[{"type":"Failed","status":"True","message":"x"}]}}`))
	f.Add([]byte(`{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"a"},"status":{"conditions":[{"type":"Failed","status":"True","message":"` + strings.Repeat("x", 100_000) + `"}]}}`))
	f.Add([]byte(`{"metadata":{},"status":{"conditions":[null,7,{"type":{}}]},"spec":[[]]}`))
	w, err := New(Config{REST: &rest.Config{Host: "http://127.0.0.1:1"}, ClusterID: "c"})
	if err != nil {
		f.Fatal(err)
	}
	k := w.newKindWatch(kubeobj.Kind{Group: "batch", Version: "v1", Kind: "Job", Resource: "jobs", Namespaced: true})
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, whole := range []bool{true, false} {
			k.whole = whole
			ref, live, _, err := (&stream{w: w, k: k}).reduce(raw)
			if err == nil && (ref.Kind != "Job" || len(live.Message) > maxHealthMessage+len("…")) {
				t.Errorf("%v has a message of %d bytes", ref, len(live.Message))
			}
		}
	})
}
