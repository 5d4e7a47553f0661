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
