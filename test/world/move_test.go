package world_test

import (
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/pages"
	"github.com/axle-cd/axle/test/world"
)

const (
	movePage   = "../../docs/howto/move-the-hub.md"
	moveWithin = 3 * time.Minute
)

// TestMoveTheHub: a hub gets another name, and its agent follows by the commands of the
// page as they stand there.
func TestMoveTheHub(t *testing.T) {
	takePlace(t)
	w, err := world.Start(t.Context(), world.Config{Clusters: []string{"edge-1"}, Pods: true, Hub: []string{"--agent-upgrades=manual"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.Login(t.Context()))
	must(w.ConnectPod(t.Context(), "edge-1", "--poll-interval", "1s"))
	fresh := func(what string) {
		t.Helper()
		eventually.For(t, moveWithin, what, func() error {
			s, err := w.Service(t.Context(), "edge-1", "axle-agent")
			if err == nil && (s.Freshness != "Fresh" || s.Health != "Healthy") {
				err = errors.New(s.Freshness + " " + s.Text())
			}
			return err
		})
	}
	done := func() {
		t.Helper()
		eventually.For(t, moveWithin, "the rollout ends", func() error {
			s, err := w.Axle(t.Context(), "agents", "status", "-o", "jsonpath={.phase}")
			if err == nil && strings.TrimSpace(s.Out) != "Done" {
				err = errors.New(s.Out)
			}
			return err
		})
	}
	// As a hub that upgraded its agents before.
	eventually.For(t, moveWithin, "the hub knows how the agent is installed", func() error {
		_, err := w.Axle(t.Context(), "agents", "upgrade", "--image", world.AgentImage, "--waves", "100%", "--soak", "1s")
		return err
	})
	done()
	fresh("the agent runs")

	u, err := url.Parse(w.Hub.URL)
	must(err)
	was, is := w.Hub.URL, "http://localhost:"+u.Port()
	must(w.Hub.Stop(t.Context()))
	w.Hub.SetEnv("AXLE_HUB_EXTERNAL_URL="+is, "AXLE_HUB_ADVERTISE_URL="+was)
	must(w.Hub.Start(t.Context()))

	text, err := os.ReadFile(movePage)
	must(err)
	agents := strings.Count(string(text[:strings.Index(string(text), "\n## The agents\n")]), "\n")
	words := strings.NewReplacer("https://old.example.com", was, "https://new.example.com", is, "registry.example.com/axle-cd/axle-agent:1.4.2", world.AgentImage)
	blocks, err := pages.Script(movePage)
	must(err)
	ran := 0
	for _, block := range blocks {
		if block.Line < agents {
			continue
		}
		ran++
		script := words.Replace(block.Text)
		command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
		command.Env = append(os.Environ(), "AXLE_CONFIG="+w.Settings(), "KUBECONFIG="+w.Cluster("edge-1").Kubeconfig(), "PATH="+filepath.Dir(w.Programs["axle"])+":"+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		t.Logf("%s:%d\n%s\n%s", movePage, block.Line, script, out)
		must(err)
		eventually.For(t, moveWithin, "the agent polls", func() error {
			s, err := w.Service(t.Context(), "edge-1", "axle-agent")
			if err == nil && s.Freshness != "Fresh" {
				err = errors.New(s.Freshness)
			}
			return err
		})
		if strings.Contains(block.Text, "axle events") {
			eventually.For(t, moveWithin, "the events show the new address", func() error {
				events, err := w.Axle(t.Context(), "events", "--cluster", "edge-1")
				if err == nil && !strings.Contains(events.Out, "--hub-url="+is) {
					err = errors.New(events.Out)
				}
				return err
			})
		}
	}
	if ran != 3 {
		t.Errorf("%d blocks ran", ran)
	}
	done()
	eventually.For(t, moveWithin, "the agent's own service is Synced", func() error {
		s, err := w.Service(t.Context(), "edge-1", "axle-agent")
		if err == nil && (s.Sync != "Synced" || s.Freshness != "Fresh" || s.Health != "Healthy") {
			err = errors.New(s.Freshness + " " + s.Text())
		}
		return err
	})
	got, err := w.Kubectl(t.Context(), "edge-1", "--namespace", "axle-system", "get", "deployment", "axle-agent", "--output", "jsonpath={.spec.template.spec.containers[0].args}")
	must(err)
	if !strings.Contains(got.Out, "--hub-url="+is) || strings.Contains(got.Out, was) {
		t.Errorf("the agent's arguments are %s", got.Out)
	}
}
