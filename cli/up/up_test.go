package up_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/commandtest"
	"github.com/axle-cd/axle/cli/up"
	"github.com/axle-cd/axle/test/gitserver"
)

// run is axle up local, with a kubeconfig that leads nowhere: the folder and the
// repository are looked at before the cluster.
func run(t *testing.T, dir, repo string, more ...string) (string, bool) {
	t.Helper()
	args := append([]string{"local", "--dir", dir, "--kubeconfig", "/nowhere", "--repo", repo, "--url", "https://axle.example.test", "--email", "you@example.test"}, more...)
	result := commandtest.Run(t, nil, func(a *command.App) *cobra.Command { return up.Command(a, nil) }, args...)
	if result.Error == nil {
		return result.Out + result.Err, true
	}
	return result.Out + result.Err + result.Error.Error(), false
}

func server(t *testing.T) *gitserver.Server {
	t.Helper()
	s, err := gitserver.Start(t.Context(), gitserver.Config{})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	must(t, s.Create(t.Context(), "fleet"))
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// below lists a folder.
func below(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return strings.Join(names, "\n")
}

// A folder with files, a folder of another repository, a repository with commits, and one
// that cannot be read are refused with the way out, and nothing is written.
func TestWhatOthersFilledIsRefused(t *testing.T) {
	s := server(t)
	must(t, s.Create(t.Context(), "full"))
	_, err := s.Commit(t.Context(), "full", "main", "a README", map[string]gitserver.Content{"README.md": "mine"})
	must(t, err)
	files := t.TempDir()
	must(t, os.WriteFile(filepath.Join(files, "notes.txt"), []byte("mine"), 0o600))
	repository := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "mine"}} {
		c := exec.CommandContext(t.Context(), "git", args...)
		c.Dir = repository
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatal(err, string(out))
		}
	}
	for name, c := range map[string]struct{ dir, repo, want string }{
		"a folder with files":     {files, s.URL("fleet"), "notes.txt"},
		"another repository":      {repository, s.URL("fleet"), "is not empty"},
		"a repository with files": {t.TempDir(), s.URL("full"), "create an empty one"},
		"no repository":           {t.TempDir(), s.URL("nobody"), "cannot be read"},
	} {
		before := below(t, c.dir)
		out, ok := run(t, c.dir, c.repo)
		if ok || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v %s", name, ok, out)
		}
		if after := below(t, c.dir); after != before {
			t.Errorf("%s: before\n%s\nafter\n%s", name, before, after)
		}
	}
	if n := s.Count("", gitserver.Push); n != 0 {
		t.Errorf("%d pushes", n)
	}
}

// A second run with other answers is refused, and names both.
func TestAnswersThatContradictAreRefused(t *testing.T) {
	s := server(t)
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".axle"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, ".axle/up.yaml"), []byte("target: local\nworkload: none\nurl: https://axle.example.test\nemail: you@example.test\nname: fleet\nbranch: main\nrepository: "+s.URL("fleet")+"\nversion: 1.0.0\n"), 0o600))
	out, ok := run(t, dir, s.URL("other"), "--branch", "trunk")
	if ok || !strings.Contains(out, "--repo is "+s.URL("fleet")+" there, not "+s.URL("other")) || !strings.Contains(out, "--branch is main there, not trunk") {
		t.Errorf("%v %s", ok, out)
	}
	if out, ok := run(t, dir, "", "--workload", "bed"); ok || !strings.Contains(out, "--workload is none there, not bed") {
		t.Errorf("with clusters: %v %s", ok, out)
	}
	if out, ok := run(t, t.TempDir(), s.URL("fleet"), "--workload", "vms"); ok || !strings.Contains(out, "none, docker, bed") {
		t.Errorf("with clusters that nobody makes: %v %s", ok, out)
	}
	if out, ok := run(t, dir, ""); ok || !strings.Contains(out, "kubeconfig") {
		t.Errorf("with the same answers it goes on to the cluster: %v %s", ok, out)
	}
	must(t, os.Mkdir(filepath.Join(dir, "values"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "values/axle.yaml"), []byte("a: b\n"), 0o600))
	other := filepath.Join(t.TempDir(), "other.yaml")
	must(t, os.WriteFile(other, []byte("a: c\n"), 0o600))
	if out, ok := run(t, dir, "", "--values", other); ok || !strings.Contains(out, "has other values than") {
		t.Errorf("with other values: %v %s", ok, out)
	}
}
