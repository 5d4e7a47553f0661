package install_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/buildinfo"
)

// before is the version that the programs of the previous release are stamped with: as
// long as none was cut, its own is that of this tree.
const before = "0.0.9"

// fleetUpgraded is how many simulated agents poll during the upgrade from the previous
// release.
const fleetUpgraded = 200

// previousCommit is the one in deploy/previous-release.
func previousCommit(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/previous-release")
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	t.Fatal("deploy/previous-release names no commit")
	return ""
}

// The file names a commit of this repository that has the chart, so that make soak does
// not fail for it after an hour.
func TestPreviousReleaseIsACommitWithTheChart(t *testing.T) {
	commit := previousCommit(t)
	if out, err := exec.CommandContext(t.Context(), "git", "cat-file", "-e", commit+":deploy/charts/axle/Chart.yaml").CombinedOutput(); err != nil {
		if shallow, _ := exec.CommandContext(t.Context(), "git", "rev-parse", "--is-shallow-repository").Output(); strings.TrimSpace(string(shallow)) == "true" {
			t.Skip("this checkout has no history")
		}
		t.Errorf("%s: %v\n%s", commit, err, out)
	}
}

// previous builds the programs of the previous release once, into a cache by commit.
func previous(t *testing.T) map[string]string {
	t.Helper()
	commit := previousCommit(t)
	cache, err := os.UserCacheDir()
	must(t, err)
	dir := filepath.Join(cache, "axle", "previous", commit)
	files := map[string]string{}
	for _, name := range []string{"axle", "axle-hub", "axle-agent", "axle-operator", "axle-render", "axle-render-rare"} {
		files[name] = filepath.Join(dir, name)
	}
	if _, err := os.Stat(filepath.Join(dir, "built")); err == nil {
		return files
	}
	source := previousSource(t)
	must(t, os.MkdirAll(dir, 0o755))
	for name, file := range files {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", file, "-ldflags", "-w -X github.com/axle-cd/axle/internal/buildinfo.Version="+before, "./cmd/"+name)
		build.Dir = source
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s of %s: %v\n%s", name, commit, err, out)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "built"), nil, 0o600))
	return files
}

// previousSource is the tree of the previous release, in a folder of this test.
func previousSource(t *testing.T) string {
	t.Helper()
	source := t.TempDir()
	archive := exec.CommandContext(t.Context(), "git", "archive", "--format=tar", previousCommit(t))
	archive.Dir = "../.."
	tree, err := archive.Output()
	must(t, err)
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", source)
	unpack.Stdin = bytes.NewReader(tree)
	must(t, unpack.Run())
	return source
}

// The hub of the previous release works on the schema of this tree, as it does between
// the upgrade of the first replica and of the last, and after a way back: its own tests
// of the store pass with the migrations of this tree.
func TestPreviousStoreOnThisSchema(t *testing.T) {
	if !soak {
		t.Skip("make soak runs it")
	}
	source := previousSource(t)
	migrations := filepath.Join(source, "hub", "store", "migrations")
	must(t, os.RemoveAll(migrations))
	must(t, os.CopyFS(migrations, os.DirFS("../../hub/store/migrations")))
	// The tests that compare the schema with the code of the same version know no newer table.
	command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout", "15m", "-skip", "^Test(DefinitionsMatchTheSchema|Columns.*|EveryDefinitionIsChecked)$", "./hub/store")
	command.Dir, command.Env = source, append(os.Environ(), "AXLE_SOAK=")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// 200 simulated and 3 real agents go with their hubs from the previous release to this
// tree and back: every poll is answered, no repository moves, the agents follow in waves.
// make soak runs it, and writes docs/benchmarks/upgrade.json.
func TestUpgradeFromThePreviousRelease(t *testing.T) {
	if !soak {
		t.Skip("make soak runs it; TestReplicasServeWhilePodsGoAndVersionsChange is its smoke")
	}
	files := previous(t)
	h := prepareHA(t)
	for name, file := range files {
		h.SetBinary(name+":"+before, file)
	}
	old := func(args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		command := exec.CommandContext(ctx, files["axle"], args...)
		out, err := command.CombinedOutput()
		t.Logf("axle of %s %s\n%s", before, strings.Join(args, " "), out)
		if err != nil {
			t.Errorf("axle of %s %s: %v", before, strings.Join(args, " "), err)
		}
	}
	old("install", "--kubeconfig", h.Kubeconfig(), "--values", h.values, "--email", "you@example.test", "--without-mgmt", "--timeout", "120s")
	h.populate(fleetUpgraded)
	// The previous release closes its port at once, which a client then repeats.
	h.abrupt = true
	figures := map[string]calm{}
	figures["upgrade"] = h.calmly("upgrade", func() {
		if _, _, code := h.axle("upgrade", "--kubeconfig", h.Kubeconfig(), "--timeout", "115s"); code != 0 {
			t.Errorf("axle upgrade ends with %d", code)
		}
	})
	now := buildinfo.Version
	h.replicasAre(now)
	h.agentsFollow(now)
	h.abrupt = false
	figures["back"] = h.calmly("back", func() {
		old("upgrade", "--kubeconfig", h.Kubeconfig(), "--timeout", "240s")
	})
	h.replicasAre(before)
	h.agentsFollow(before)
	h.publish(figures)
}

// replicasAre holds that all replicas say that they are a version.
func (h *ha) replicasAre(version string) {
	h.t.Helper()
	if have, want := h.versions(), strings.TrimSpace(strings.Repeat(version+" ", replicas)); have != want {
		h.t.Errorf("the replicas are %s, not %s", have, want)
	}
}

// agentsFollow upgrades the real agents in waves, while the simulated ones poll on.
func (h *ha) agentsFollow(version string) {
	h.t.Helper()
	h.must("agents", "upgrade", "--image", "axle.test/axle-agent:"+version, "--waves", "1,100%", "--soak", "1s")
	h.eventually("the agents are "+version, func() string {
		return h.kubectl("get", "deployments", "-A", "-l", "app.kubernetes.io/name=axle-agent", "-o", "jsonpath={.items[*].spec.template.spec.containers[0].image}")
	}, strings.TrimSpace(strings.Repeat("axle.test/axle-agent:"+version+" ", realAgents)))
	h.words++
	for i := range repositories {
		h.commit(fmt.Sprintf("r%d", i))
	}
	h.delivered()
}

// publish writes what was measured for people.
func (h *ha) publish(figures map[string]calm) {
	h.t.Helper()
	type value struct {
		What  string  `json:"what"`
		Value float64 `json:"value"`
		Unit  string  `json:"unit"`
		Most  float64 `json:"budget"`
	}
	var values []value
	for _, step := range []string{"upgrade", "back"} {
		f := figures[step]
		values = append(values,
			value{step + ": polls that were not answered", f.missed, "", 0}, value{step + ": repositories that moved", float64(f.moved), "", 0},
			value{step + ": polls that were answered", f.answered, "", f.answered}, value{step + ": time until all replicas run and all is delivered", f.took.Seconds(), "s", 300})
	}
	commit, err := exec.CommandContext(h.t.Context(), "git", "rev-parse", "--short=12", "HEAD").Output()
	must(h.t, err)
	text, err := json.MarshalIndent(map[string]any{
		"name": "upgrade", "what": "three replicas with agents go from the previous release to this tree and back", "date": time.Now().UTC().Format(time.RFC3339),
		"commit": strings.TrimSpace(string(commit)), "machine": map[string]any{"cores": runtime.NumCPU(), "go": runtime.Version()},
		"settings": map[string]any{"previous": previousCommit(h.t), "simulated": fleetUpgraded, "real": realAgents, "repositories": repositories}, "values": values,
	}, "", "  ")
	must(h.t, err)
	must(h.t, os.WriteFile("../../docs/benchmarks/upgrade.json", append(text, '\n'), 0o600))
}
