//go:build soak

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
	"github.com/axle-cd/axle/internal/eventually"
)

// before is the version that the programs of the previous release are stamped with: as
// long as none was cut, its own is that of this tree.
const before = "0.0.9"

// fleetUpgraded is how many simulated agents poll during the upgrade from the previous
// release.
const fleetUpgraded = 200

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

// otherMatters are tests of the previous release's store that say nothing about the next
// schema. Look at the list when deploy/previous-release changes.
var otherMatters = []string{
	// They compare the schema with the code of the same version, which knows no newer table.
	"DefinitionsMatchTheSchema", "Columns.*", "EveryDefinitionIsChecked",
	// They fail in c8d100e8 by themselves: a list of source files, and a lock that was given
	// back late.
	"EveryTimerOfTheHubIsListed", "DamagedBackupChangesNothing",
}

// The hub of the previous release works on the schema of this tree, as it does between
// the upgrade of the first replica and of the last, and after a way back: its own tests
// of the store pass with the migrations of this tree.
func TestPreviousStoreOnThisSchema(t *testing.T) {
	source := previousSource(t)
	migrations := filepath.Join(source, "hub", "store", "migrations")
	must(t, os.RemoveAll(migrations))
	must(t, os.CopyFS(migrations, os.DirFS("../../hub/store/migrations")))
	command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout", "15m", "-skip", "^Test("+strings.Join(otherMatters, "|")+")$", "./hub/store")
	command.Dir, command.Env = source, append(os.Environ(), "AXLE_SOAK=")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// 200 simulated and 3 real agents go with their hubs from the previous release to this
// tree and back: every poll is answered, no repository moves, the agents follow in waves.
// make soak runs it, and writes test/benchmarks/upgrade.json.
func TestUpgradeFromThePreviousRelease(t *testing.T) {
	h := prepareHA(t)
	old := h.previous()
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

// One hub on SQLite goes with 200 simulated agents from the previous release to this tree
// and back: it is away for less than a minute, and then answers each of them.
func TestOneHubFromThePreviousRelease(t *testing.T) {
	b := newBed(t)
	old := b.previous()
	old("install", "--kubeconfig", b.Kubeconfig(), "--values", b.values, "--email", "you@example.test")
	ca, fleet := b.fleet(fleetUpgraded)
	away := map[string]time.Duration{}
	away["upgrade"] = b.interrupted("upgrade", ca, fleet, func() { b.must("upgrade", "--kubeconfig", b.Kubeconfig()) })
	if have := b.must("hub", "status"); !strings.Contains(have, buildinfo.Version) {
		t.Errorf("after the upgrade: %s", have)
	}
	away["back"] = b.interrupted("back", ca, fleet, func() { old("upgrade", "--kubeconfig", b.Kubeconfig()) })
	if have := b.must("hub", "status"); !strings.Contains(have, before) {
		t.Errorf("after the way back: %s", have)
	}
	var values []value
	for _, step := range []string{"upgrade", "back"} {
		values = append(values, value{step + ": time without an answer", away[step].Seconds(), "s", 60})
	}
	publish(t, "upgrade-small", "one hub with agents goes from the previous release to this tree and back", map[string]any{"simulated": fleetUpgraded}, values)
}

// previous lets pods run the programs of the previous release, and returns its axle.
func (b *bed) previous() func(args ...string) {
	b.t.Helper()
	files := previous(b.t)
	for name, file := range files {
		b.SetBinary(name+":"+before, file)
	}
	return func(args ...string) {
		b.t.Helper()
		ctx, cancel := context.WithTimeout(b.t.Context(), 5*time.Minute)
		defer cancel()
		command := exec.CommandContext(ctx, files["axle"], args...)
		command.Env = b.env()
		out, err := command.CombinedOutput()
		b.t.Logf("axle of %s %s\n%s", before, strings.Join(args, " "), out)
		if err != nil {
			b.t.Errorf("axle of %s %s: %v", before, strings.Join(args, " "), err)
		}
	}
}

// agentsFollow upgrades the real agents in waves, while the simulated ones poll on.
func (h *ha) agentsFollow(version string) {
	h.t.Helper()
	h.must("agents", "upgrade", "--image", "axle.test/axle-agent:"+version, "--waves", "1,100%", "--soak", "1s")
	// A hub that has just started waits until it knows which agents poll, a minute or two.
	want := strings.TrimSpace(strings.Repeat("axle.test/axle-agent:"+version+" ", realAgents))
	eventually.For(h.t, 3*limit, "the agents are "+version, func() error {
		have := h.kubectl("get", "deployments", "-A", "-l", "app.kubernetes.io/name=axle-agent", "-o", "jsonpath={.items[*].spec.template.spec.containers[0].image}")
		if strings.TrimSpace(have) != want {
			return errNot(have + "\n" + h.must("agents", "status"))
		}
		return nil
	})
	h.words++
	for i := range repositories {
		h.commit(fmt.Sprintf("r%d", i))
	}
	h.delivered()
}

// value is one figure of a record.
type value struct {
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Most  float64 `json:"budget,omitempty"`
}

// publish writes what was measured of three replicas.
func (h *ha) publish(figures map[string]calm) {
	h.t.Helper()
	var values []value
	for _, step := range []string{"upgrade", "back"} {
		f := figures[step]
		values = append(values,
			value{step + ": polls that were not answered", f.missed, "", 0}, value{step + ": repositories that moved", float64(f.moved), "", 0},
			value{step + ": polls that were answered", f.answered, "", 0}, value{step + ": time until all replicas run and all is delivered", f.took.Seconds(), "s", 300})
	}
	publish(h.t, "upgrade", "three replicas with agents go from the previous release to this tree and back",
		map[string]any{"simulated": fleetUpgraded, "real": realAgents, "repositories": repositories}, values)
}

// publish writes what was measured for people.
func publish(t *testing.T, name, what string, settings map[string]any, values []value) {
	t.Helper()
	commit, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--short=12", "HEAD").Output()
	must(t, err)
	settings["previous"] = previousCommit(t)
	text, err := json.MarshalIndent(map[string]any{
		"name": name, "what": what, "date": time.Now().UTC().Format(time.RFC3339), "commit": strings.TrimSpace(string(commit)),
		"machine": map[string]any{"cores": runtime.NumCPU(), "go": runtime.Version()}, "settings": settings, "values": values,
	}, "", "  ")
	must(t, err)
	must(t, os.WriteFile("../benchmarks/"+name+".json", append(text, '\n'), 0o600))
}
