package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/test/pages"
	"github.com/axle-cd/axle/test/port"
	"github.com/axle-cd/axle/test/world"
)

const (
	tutorialPage = "../../docs/start/tutorial.md"
	// tutorialURL is where the tutorial's hub is.
	tutorialURL = "127.0.0.1:8080"
	// tutorialLimit is what the page promises.
	tutorialLimit = 15 * time.Minute
)

// The tutorial's blocks run in one shell as they stand there, in a home of
// their own, on a cluster and a Git server of the test bed. What differs is
// named in given: the programs are built, and the repository is the bed's. The
// hub may read a repository on loopback, as its environment says.
func TestTutorial(t *testing.T) {
	ctx, cancel := limited(startLimit)
	defer cancel()
	w, err := world.Start(ctx, world.Config{Clusters: []string{"edge-1"}, Pods: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("end of the world: %v", err)
		}
	})
	if err := w.Git.Create(ctx, "tutorial"); err != nil {
		t.Fatal(err)
	}
	address, err := port.Address()
	if err != nil {
		t.Fatal(err)
	}
	home := tutorialHome(t, w)
	script := tutorialScript(t, map[string]string{
		"make build": "test -x bin/axle",
		"export REPOSITORY=https://git.example.com/you/tutorial.git": "export REPOSITORY=" + w.Git.URL("tutorial"),
	}, address)
	said := typed(t, filepath.Join(home, "axle"), script, []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1",
		"GIT_AUTHOR_NAME=You", "GIT_AUTHOR_EMAIL=you@example.com", "GIT_COMMITTER_NAME=You", "GIT_COMMITTER_EMAIL=you@example.com",
		"GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1",
		"AXLE_HUB_LISTEN=" + address, "AXLE_HUB_ALLOW_HTTP_UPSTREAMS=true", "AXLE_HUB_ALLOW_UPSTREAM_CIDRS=127.0.0.0/8",
	})
	// In this order: delivered, changed, healed, undone, followed again.
	want := regexp.MustCompile(`(?s)edge-1 +hello +Synced +Healthy.*good morning.*configmap/hello patched.*good morning.*service\.healed` +
		`.*is pinned to revision.*good evening.*service edge-1/hello deleted.*namespace "hello" deleted`)
	if !want.MatchString(said) {
		t.Errorf("the tutorial does not show %s:\n%s", want, said)
	}
}

// tutorialHome is a home as the page wants it: a checkout with the programs
// built, and a kubeconfig.
func tutorialHome(t *testing.T, w *world.World) string {
	t.Helper()
	// In the world's folder, which is removed after all that may write there ended.
	home := filepath.Join(w.Dir, "home")
	for _, dir := range []string{"axle", ".kube"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Dir(w.Programs["axle"]), filepath.Join(home, "axle", "bin")); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := os.ReadFile(w.Cluster("edge-1").Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".kube", "config"), kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

// tutorialScript is all blocks of the page, with the lines that are given in
// place of the page's own. Each of those must stand there once.
func tutorialScript(t *testing.T, given map[string]string, address string) string {
	t.Helper()
	blocks, err := pages.Script(tutorialPage)
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, b := range blocks {
		fmt.Fprintf(&script, "echo '+++ the block at line %d'\n%s", b.Line, b.Text)
	}
	text := "\n" + script.String()
	for line, own := range given {
		if n := strings.Count(text, "\n"+line+"\n"); n != 1 {
			t.Fatalf("%s has the line %q %d times", tutorialPage, line, n)
		}
		text = strings.Replace(text, "\n"+line+"\n", "\n"+own+"\n", 1)
	}
	if !strings.Contains(text, tutorialURL) {
		t.Fatalf("%s names no hub at %s", tutorialPage, tutorialURL)
	}
	return strings.ReplaceAll(text, tutorialURL, address)
}

// typed runs a script in a shell and returns what it said. Whatever it started
// ends with it.
func typed(t *testing.T, dir, script string, env []string) string {
	t.Helper()
	log := filepath.Join(dir, "shell.log")
	// A file and no pipe: what runs on in the background would keep that open.
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	ctx, cancel := limited(tutorialLimit)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	shell.Dir, shell.Env = dir, env
	shell.Stdout, shell.Stderr = out, out
	if err := child.Start(shell); err != nil {
		t.Fatal(err)
	}
	err = errors.Join(shell.Wait(), child.Kill(shell))
	said, readErr := os.ReadFile(log)
	if readErr != nil {
		t.Fatal(readErr)
	}
	if err != nil {
		for _, name := range []string{"hub.log", "agent.log"} {
			text, _ := os.ReadFile(filepath.Join(dir, "..", "axle-tutorial", name))
			t.Logf("%s:\n%s", name, text)
		}
		t.Fatalf("the tutorial fails: %v\n%s", err, said)
	}
	return string(said)
}
