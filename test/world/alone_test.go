package world_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/agent/agenttest"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/test/world"
)

// The whole agent runs in this process on a clock that the test moves; hub and
// API server are real and on the machine's.
func TestThreeHoursWithoutTheHub(t *testing.T) {
	t.Parallel()
	takePlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	w, err := world.Start(ctx, world.Config{Clusters: []string{"edge"}, Hub: []string{"--repo-poll-interval", "2s"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{World: w, t: t, agents: map[string]*world.Agent{}}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Logf("end of the world: %v", err)
		}
	})
	s.must(w.Login(ctx))
	s.must(w.Git.Create(ctx, "fleet"))
	s.commit("app", "1")
	s.axle("repos", "add", "fleet", w.Git.URL("fleet"))
	token := strings.TrimSpace(s.axle("clusters", "create", "edge"))
	kubeconfig, err := w.Cluster("edge").KubeconfigFor("axle-agent", "system:masters")
	s.must(err)
	now := clock.NewManual(time.Now().Add(-3 * time.Hour))
	dir := t.TempDir()
	start := func() *agenttest.Agent {
		t.Helper()
		a, err := agenttest.Run(t.Context(), agenttest.Config{HubURL: w.Origin(), Kubeconfig: kubeconfig, BootstrapToken: token, DataDir: dir,
			PollInterval: time.Minute, Clock: now}, dir, slog.New(slog.NewTextHandler(t.Output(), nil)))
		s.must(err)
		t.Cleanup(func() { _ = a.Stop() })
		return a
	}
	// until moves the clock until a condition holds.
	until := func(what string, step time.Duration, condition func() error) {
		t.Helper()
		s.eventual(what, func() error {
			now.Advance(step)
			return condition()
		})
	}
	word := func(want string) func() error {
		return func() error {
			o, err := s.get("edge", "app", "one")
			if err == nil && o.Data["word"] != want {
				err = fmt.Errorf("it says %q", o.Data["word"])
			}
			return err
		}
	}
	back := func() error {
		_, err := s.get("edge", "app", "two")
		return err
	}

	agent := start()
	s.axle("services", "create", "edge/app", "--repo", "fleet", "--ref", "main", "--folder", "app")
	until("the service is installed", 20*time.Second, word("1"))
	until("the service is whole", 20*time.Second, back)
	s.must(w.Hub.Kill())
	away := now.Now()
	for quarter := range 12 {
		now.Advance(15 * time.Minute)
		if quarter == 5 {
			// The next start has only its disk and the cluster.
			s.must(agent.Stop())
			agent = start()
		}
		if quarter%3 == 2 {
			if _, err := s.Kubectl(ctx, "edge", "delete", "configmap", "two", "-n", "app"); err != nil {
				t.Fatal(err)
			}
			until("what was deleted is back", 5*time.Second, back)
		}
	}
	if gone := now.Now().Sub(away); gone < 3*time.Hour {
		t.Fatalf("only %v passed", gone)
	}
	s.must(w.Hub.Start(ctx))
	s.commit("app", "2")
	until("the agent follows the hub again", 20*time.Second, word("2"))
	s.must(agent.Stop())
}
