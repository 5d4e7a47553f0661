package world_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/world"
)

// agentsUpgraded is how many agents go from one version to the next. They run in
// namespaces of one API server, each with its own identity, inventory and service: to
// the hub they are as many clusters.
const agentsUpgraded = 20

// upgradeWithin bounds each step of the upgrades on a busy machine.
const upgradeWithin = 4 * time.Minute

// upgradeStatus is what `axle agents status -o json` says.
type upgradeStatus struct {
	Version, Phase, Message string
	Targets                 []struct {
		Cluster, State, AgentVersion, Message, GoodSince string
		Wave                                             int
	}
}

func (u upgradeStatus) count(state, version string) int {
	n := 0
	for _, t := range u.Targets {
		if (state == "" || t.State == state) && (version == "" || t.AgentVersion == version) {
			n++
		}
	}
	return n
}

// herd is a world with many agents as pods of one API server.
type herd struct {
	*world.World
	t *testing.T
}

// TestAgentUpgradesItself: twenty agents go from one version to the next in waves,
// without a change of what they deliver; a version that renders differently stops at
// the first, which continues unaffected.
func TestAgentUpgradesItself(t *testing.T) {
	h := newHerd(t)
	before := h.versions()

	h.axle("agents", "upgrade", "--to", "2.0.0", "--soak", "1s")
	done := h.until("every agent runs 2.0.0", func(u upgradeStatus) error {
		if u.Phase != "Done" || u.count("", "2.0.0") != agentsUpgraded {
			return fmt.Errorf("%s %s, %d at 2.0.0, %d well", u.Phase, u.Message, u.count("", "2.0.0"), u.count("Good", ""))
		}
		return nil
	})
	waves := map[int]int{}
	for _, target := range done.Targets {
		waves[target.Wave]++
	}
	if waves[1] != 1 || waves[3] != 1 || waves[4] != agentsUpgraded-2 {
		t.Errorf("clusters by wave: %v", waves)
	}
	if first, last := earliest(done, 1), earliest(done, 4); first == "" || last < first {
		t.Errorf("the first wave was well at %q, the last one at %q already", first, last)
	}
	h.installed("2.0.0")
	if after := h.versions(); after != before {
		t.Errorf("the upgrade touched what is deployed:\n%s\nthen\n%s", before, after)
	}

	h.axle("agents", "upgrade", "--to", "3.0.0", "--soak", "1s")
	stopped := h.until("the broken version stops", func(u upgradeStatus) error {
		if u.Phase != "Stopped" {
			return fmt.Errorf("%s, %d placed, %d failed", u.Phase, u.count("Placed", ""), u.count("Failed", ""))
		}
		return nil
	})
	if stopped.count("Failed", "2.0.0") != 1 || stopped.count("Waiting", "2.0.0") != agentsUpgraded-1 {
		t.Errorf("one should have tried and gone back, the others never begun: %+v", stopped.Targets)
	}
	if !strings.Contains(stopped.Message, "would change 1 of 1 unchanged services") {
		t.Errorf("it stopped for another reason: %s", stopped.Message)
	}
	h.installed("2.0.0")
	if after := h.versions(); after != before {
		t.Errorf("the broken version touched what is deployed:\n%s\nthen\n%s", before, after)
	}
	h.commit("2")
	h.delivered("2")
	h.admits("DriftUnknown")

	// Back at what runs, then on to another version, first on one cluster: an
	// agent that was upgraded once goes the same way again.
	h.axle("agents", "abort")
	h.until("it is back", func(u upgradeStatus) error {
		if u.Phase != "Aborted" {
			return errors.New(u.Phase)
		}
		return nil
	})
	h.axle("agents", "upgrade", "--to", "4.0.0", "--waves", "1,100%")
	h.eventual("the first cluster is installed at 4.0.0", func() error {
		result, err := h.Kubectl(h.t.Context(), "herd", "get", "deployments", "-n", "axle-"+clusterOf(0), "-o", images)
		if err == nil && result.Out != "axle-agent axle.test/axle-agent:4.0.0\n" {
			err = errors.New(result.Out)
		}
		return err
	})
	if n := h.until("the others wait", func(upgradeStatus) error { return nil }).count("Waiting", "2.0.0"); n != agentsUpgraded-1 {
		t.Errorf("%d others wait", n)
	}
}

// images are the Deployments and their images.
const images = `jsonpath={range .items[*]}{.metadata.name} {.spec.template.spec.containers[0].image}{"\n"}{end}`

// newHerd installs the agents at version 1.0.0, each with one service.
func newHerd(t *testing.T) *herd {
	t.Helper()
	takePlace(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	w, err := world.Start(ctx, world.Config{
		Clusters: []string{"herd"}, Pods: true, Hub: []string{"--repo-poll-interval", "2s", "--agent-upgrades", "manual"},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := &herd{w, t}
	t.Cleanup(func() {
		if t.Failed() {
			h.showLogs()
		}
		if err := w.Close(); err != nil {
			t.Logf("end of the world: %v", err)
		}
	})
	// Image 1.0.0 is the world's own build. Version 3.0.0 is 2.0.0 again, but
	// cannot render: its axle-render ends at once.
	next, err := bin.Path(ctx, "axle-agent", bin.Options{Version: "2.0.0"})
	h.must(err)
	w.Cluster("herd").SetBinary("axle-agent:2.0.0", next)
	w.Cluster("herd").SetBinary("axle-agent:3.0.0", next)
	w.Cluster("herd").SetBinary("axle-agent:4.0.0", w.Programs["axle-agent"])
	broken, err := bin.Path(ctx, "hello", bin.Options{Package: "./test/world/testdata/hello"})
	h.must(err)
	w.Cluster("herd").SetBinary("axle-render:3.0.0", broken)
	h.must(w.Login(ctx))
	h.must(w.Git.Create(ctx, "fleet"))
	h.commit("1")
	h.axle("repos", "add", "fleet", w.Git.URL("fleet"))
	h.install(ctx)
	h.delivered("1")
	h.eventual("every agent reported its service", func() error {
		services, err := h.Services(ctx)
		for _, s := range services {
			if s.AppliedRevision == "" || s.AppliedRevision != s.DesiredRevision {
				return fmt.Errorf("%s/%s is at %q of %q", s.Cluster, s.Name, s.AppliedRevision, s.DesiredRevision)
			}
		}
		return err
	})
	return h
}

func clusterOf(n int) string { return fmt.Sprintf("edge-%02d", n) }

func (h *herd) install(ctx context.Context) {
	h.t.Helper()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for n := range agentsUpgraded {
		group.Go(func() error {
			name := clusterOf(n)
			connect := []string{"clusters", "connect", name, "--kubeconfig", h.Cluster("herd").Kubeconfig(), "--timeout", "0",
				"--image", "axle.test/axle-agent:1.0.0", "--agent-namespace", "axle-" + name, "--poll-interval", "1s",
				"--agent-arg", "--upgrade-tick=500ms", "--agent-arg", "--upgrade-within=2m"}
			if n == agentsUpgraded-1 {
				connect = append(connect, "--least-privilege")
				if err := h.grant(ctx, name); err != nil {
					return err
				}
			}
			_, err := h.Axle(ctx, connect...)
			if err != nil {
				return err
			}
			_, err = h.Axle(ctx, "services", "create", name+"/app", "--namespace", "app-"+name, "--repo", "fleet", "--ref", "main", "--folder", "app")
			return err
		})
	}
	h.must(group.Wait())
}

// grant lets the agent of a cluster, which has little privilege, do what its
// one service needs, in that service's namespace.
func (h *herd) grant(ctx context.Context, name string) error {
	space, account := "app-"+name, "--serviceaccount=axle-"+name+":axle-agent"
	for _, create := range [][]string{
		{"namespace", space},
		{"rolebinding", "axle-agent", "-n", space, "--clusterrole=admin", account},
		{"clusterrole", space, "--verb=get,patch", "--resource=namespaces", "--resource-name=" + space},
		{"clusterrolebinding", space, "--clusterrole=" + space, account},
	} {
		if _, err := h.Kubectl(ctx, "herd", append([]string{"create"}, create...)...); err != nil {
			return err
		}
	}
	return nil
}

// admits waits until the agent with few rights reports what it cannot see.
func (h *herd) admits(reason string) {
	h.t.Helper()
	h.eventual("the agent with little privilege says "+reason, func() error {
		service, err := h.Service(h.t.Context(), clusterOf(agentsUpgraded-1), "app")
		if err == nil && !strings.Contains(service.Text(), reason) {
			err = fmt.Errorf("it says %s", service.Text())
		}
		return err
	})
}

func (h *herd) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *herd) axle(args ...string) string {
	h.t.Helper()
	result, err := h.Axle(h.t.Context(), args...)
	h.must(err)
	return result.Out
}

func (h *herd) commit(word string) {
	h.t.Helper()
	_, err := h.Git.Commit(h.t.Context(), "fleet", "main", "say "+word, map[string]string{"app/one.yaml": object("one", word)})
	h.must(err)
}

// eventual waits for a condition that costs a process each time it is asked.
func (h *herd) eventual(what string, condition func() error) {
	h.t.Helper()
	eventually.For(h.t, upgradeWithin, what, func() error {
		err := condition()
		if err != nil {
			select {
			case <-time.After(500 * time.Millisecond):
			case <-h.t.Context().Done():
			}
		}
		return err
	})
}

// until waits until the upgrade's status is as wanted.
func (h *herd) until(what string, condition func(upgradeStatus) error) upgradeStatus {
	h.t.Helper()
	var u upgradeStatus
	h.eventual(what, func() error {
		result, err := h.Axle(h.t.Context(), "agents", "status", "-o", "json")
		if err != nil {
			return err
		}
		u = upgradeStatus{}
		if err := json.Unmarshal([]byte(result.Out), &u); err != nil {
			return err
		}
		return condition(u)
	})
	return u
}

// delivered waits until every agent brought its service to a word.
func (h *herd) delivered(word string) {
	h.t.Helper()
	h.eventual("every service says "+word, func() error {
		result, err := h.Kubectl(h.t.Context(), "herd", "get", "configmaps", "-A", "--field-selector", "metadata.name=one",
			"-o", `jsonpath={range .items[*]}{.data.word}{"\n"}{end}`)
		if err != nil {
			return err
		}
		if n := strings.Count("\n"+result.Out, "\n"+word+"\n"); strings.Count(result.Out, word+"\n") != agentsUpgraded {
			return fmt.Errorf("%d do: %q", n, result.Out)
		}
		return nil
	})
}

// versions are the deployed objects with their uids and versions: a write would
// change them.
func (h *herd) versions() string {
	h.t.Helper()
	result, err := h.Kubectl(h.t.Context(), "herd", "get", "configmaps", "-A", "--field-selector", "metadata.name=one",
		"-o", `jsonpath={range .items[*]}{.metadata.namespace} {.metadata.uid} {.metadata.resourceVersion}{"\n"}{end}`)
	h.must(err)
	return result.Out
}

// installed waits until every agent is one Deployment with a version again, without a
// candidate.
func (h *herd) installed(version string) {
	h.t.Helper()
	want := strings.Repeat("axle-agent axle.test/axle-agent:"+version+"\n", agentsUpgraded)
	h.eventual("every agent is installed at "+version, func() error {
		result, err := h.Kubectl(h.t.Context(), "herd", "get", "deployments", "-A", "-l", "app.kubernetes.io/part-of=axle",
			"-o", images)
		if err == nil && result.Out != want {
			err = fmt.Errorf("there are\n%s", result.Out)
		}
		return err
	})
}

// earliest is when the first one of a wave was healthy.
func earliest(u upgradeStatus, wave int) string {
	first := ""
	for _, t := range u.Targets {
		if t.Wave == wave && (first == "" || t.GoodSince < first) {
			first = t.GoodSince
		}
	}
	return first
}

func (h *herd) showLogs() {
	ctx := context.WithoutCancel(h.t.Context())
	if result, err := h.Axle(ctx, "agents", "status"); err == nil {
		h.t.Log(result.Out)
	}
	for _, command := range []string{
		"get pods -A -o wide", "get configmaps -A --field-selector metadata.name=axle-agent-upgrade -o yaml",
		"logs -n axle-edge-00 -l app.kubernetes.io/part-of=axle --tail 60 --prefix",
	} {
		result, err := h.Kubectl(ctx, "herd", strings.Fields(command)...)
		h.t.Logf("%s: %v\n%s", command, err, result.Out[:min(len(result.Out), 20000)])
	}
}
