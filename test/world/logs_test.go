package world_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/world"
)

// TestLogsOfAService reads what the containers of a service write: through the
// hub, the agent and the API server, from real processes.
func TestLogsOfAService(t *testing.T) {
	t.Parallel()
	s := newStageOf(t, world.Config{Clusters: []string{"edge"}, Pods: true, Hub: []string{"--repo-poll-interval", "2s"}})
	s.Cluster("edge").SetBinary("sh", "/bin/sh")
	s.must(s.agents["edge"].Kill())
	// Past the stage's proxy, which passes no WebSocket on.
	s.agents["edge"].AddFlags("--hub-url", s.Origin())
	s.must(s.agents["edge"].Start())
	s.tunnel("edge", "Up")
	_, err := s.Kubectl(t.Context(), "edge", "create", "clusterrolebinding", "hub-admins", "--clusterrole=cluster-admin", "--group=axle:admins")
	s.must(err)
	container := func(name string) string {
		return fmt.Sprintf(`{name: %s, image: "axle.test/sh:1", command: [/usr/local/bin/sh, -c], args: ["echo first of %s; echo begin %s"]}`, name, name, name)
	}
	s.commitFiles("fleet", "two containers", map[string]string{
		"talk/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: talker}\nspec: {restartPolicy: Never, automountServiceAccountToken: false, terminationGracePeriodSeconds: 0, containers: [" + container("main") + ", " + container("side") + "]}\n",
	})
	s.axle("services", "create", "edge/talk", "--repo", "fleet", "--ref", "main", "--folder", "talk")
	s.eventual("the logs of both containers", func() error {
		result, err := s.Axle(t.Context(), "logs", "edge/talk", "--tail", "1")
		// They come in the order of their times, and either container may have been first.
		have := slices.Sorted(strings.Lines(result.Out))
		if want := []string{"talker main | begin main\n", "talker side | begin side\n"}; err == nil && !slices.Equal(have, want) {
			err = fmt.Errorf("printed\n%s%s, want\n%s", result.Out, result.Err, want)
		}
		return err
	})
	if out := s.axle("logs", "talk", "--cluster", "edge", "--container", "side", "--follow"); out != "first of side\nbegin side\n" {
		t.Errorf("one container, to its end: %q", out)
	}
	if result, err := s.Axle(t.Context(), "logs", "edge/talk", "--container", "none"); err == nil || result.Code != 4 || !strings.Contains(result.Err, "the containers are: main, side") {
		t.Errorf("no such container: exit %d, %s", result.Code, result.Err)
	}
}
