package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/axle-cd/axle/test/program"
	"github.com/axle-cd/axle/test/scale/apply"
)

// buildPeer builds what we are measured beside, which is a module of its own so
// that the product links none of it.
func buildPeer(ctx context.Context, name string, say func(string, ...any)) (program string, remove func(), err error) {
	say("building test/peers/%s (some minutes the first time)", name)
	dir, err := os.MkdirTemp("", "axle-peer-")
	if err != nil {
		return "", nil, err
	}
	program = filepath.Join(dir, name)
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("test", "peers", name)
	if out, err := build.CombinedOutput(); err != nil {
		return "", nil, errors.Join(fmt.Errorf("build %s: %w\n%s", build.Dir, err, out), os.RemoveAll(dir))
	}
	return program, func() { _ = os.RemoveAll(dir) }, nil
}

// buildControllers builds Flux's controllers. The modules in test/peers pin them
// and all that they import.
func buildControllers(ctx context.Context, say func(string, ...any)) (*apply.Controllers, error) {
	var c apply.Controllers
	for name, program := range map[string]*string{"source-controller": &c.Source, "kustomize-controller": &c.Kustomize} {
		var err error
		if *program, err = buildController(ctx, name, say); err != nil {
			return nil, err
		}
		list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/fluxcd/"+name)
		list.Dir = filepath.Join("test", "peers", name)
		source, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("find the sources of %s: %w", name, err)
		}
		c.CRDs = append(c.CRDs, filepath.Join(strings.TrimSpace(string(source)), "config", "crd", "bases"))
	}
	return &c, nil
}

// buildController builds one into the cache, named by its module and the compiler,
// unless it is there.
func buildController(ctx context.Context, name string, say func(string, ...any)) (string, error) {
	module := filepath.Join("test", "peers", name)
	sum := sha256.New()
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(module, file))
		if err != nil {
			return "", err
		}
		sum.Write(text)
	}
	sum.Write([]byte(runtime.Version()))
	cache, err := program.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "peers", hex.EncodeToString(sum.Sum(nil))[:16])
	program := filepath.Join(dir, name)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	say("building %s (some minutes, once)", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	fresh := fmt.Sprintf("%s.%d", program, os.Getpid())
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", fresh, "github.com/fluxcd/"+name)
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return program, os.Rename(fresh, program)
}
