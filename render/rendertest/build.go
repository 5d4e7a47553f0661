package rendertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// module is the path of this repository's module.
const module = "github.com/axle-cd/axle/"

// builds are the built programs, once per test binary.
var builds = struct {
	sync.Mutex
	dir  string
	done map[string]error
}{done: map[string]error{}}

// Build builds a package of this repository and returns the program; env is added to
// the environment, for example GOOS.
func Build(t testing.TB, pkg string, env ...string) string {
	t.Helper()
	builds.Lock()
	defer builds.Unlock()
	if builds.dir == "" {
		dir, err := os.MkdirTemp("", "axle-render")
		if err != nil {
			t.Fatal(err)
		}
		builds.dir = dir
	}
	path := filepath.Join(builds.dir, filepath.Base(pkg)+fmt.Sprint(env))
	err, known := builds.done[path]
	if !known {
		err = Compile(path, pkg, env...)
		builds.done[path] = err
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Compile builds a package of this repository as releases do: without cgo, whose
// threads have stacks that count as memory of the pass, and whose C library ends a
// process in words of its own. env is added to the environment.
func Compile(path, pkg string, env ...string) error {
	command := exec.Command("go", "build", "-trimpath", "-ldflags", "-w", "-o", path, module+pkg)
	command.Env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	out, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// Binary builds axle-render.
func Binary(t testing.TB) string {
	t.Helper()
	return Build(t, "cmd/axle-render")
}

// Rare builds axle-render-rare.
func Rare(t testing.TB) string {
	t.Helper()
	return Build(t, "cmd/axle-render-rare")
}

// Main runs a package's tests and removes what Build built.
func Main(m *testing.M) {
	code := m.Run()
	os.RemoveAll(builds.dir)
	os.Exit(code)
}
