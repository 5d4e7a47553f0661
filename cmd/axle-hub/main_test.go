package main_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
)

const limit = 2 * time.Minute

func program(t *testing.T) string {
	t.Helper()
	path, err := bin.Path(t.Context(), "axle-hub", bin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// process is a running axle-hub serve.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	origin string
	out    *bufio.Reader
}

// serve starts a hub and waits until it is ready.
func serve(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	return start(t, nil, append([]string{"serve", "--data-dir", dir, "--listen", "127.0.0.1:0"}, args...)...)
}

// start starts a hub by its whole command line and waits until it is ready.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	return startProgram(t, program(t), env, args...)
}

// startProgram starts a hub of one of its builds.
func startProgram(t *testing.T, program string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = t.Output()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Wait for it: what it still prints or writes after the test's end would fail
	// this test, or all of them.
	p.cmd.WaitDelay = limit
	t.Cleanup(func() { _, _ = p.cmd.Process.Kill(), p.cmd.Wait() })
	p.out = bufio.NewReader(out)
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("first line: %v", err)
	}
	fields := strings.Fields(line)
	p.origin = strings.TrimSuffix(fields[3], ";")
	eventually.For(t, limit, "the hub is ready", func() error {
		return p.get("/readyz")
	})
	return p
}

func (p *process) get(path string) error {
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.origin+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("status %d: %s", resp.StatusCode, body))
	}
	return errors.Join(err, resp.Body.Close())
}

// signal sends a signal and returns how the process ended.
func (p *process) signal(s os.Signal) error {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	return p.cmd.Wait()
}

func TestKilledHubComesBack(t *testing.T) {
	dir := t.TempDir()
	first := serve(t, dir)
	setup, err := os.ReadFile(filepath.Join(dir, "setup-token"))
	if err != nil {
		t.Fatal(err)
	}
	if err := first.signal(syscall.SIGKILL); err == nil {
		t.Error("a killed hub ended well")
	}
	second := serve(t, dir)
	again, err := os.ReadFile(filepath.Join(dir, "setup-token"))
	if err != nil || string(again) != string(setup) {
		t.Errorf("the setup token changed: %v", err)
	}
	if err := second.signal(syscall.SIGTERM); err != nil {
		t.Errorf("stopped hub: %v", err)
	}
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	serve(t, dir)
	file := filepath.Join(t.TempDir(), "backup")
	tests := map[string]struct {
		args []string
		env  []string
		code int
		says string
	}{
		"version":            {args: []string{"version"}, says: "axle-hub "},
		"help":               {args: []string{"serve", "--help"}, says: "--repo-poll-interval"},
		"unknown flag":       {args: []string{"serve", "--bogus"}, code: 2, says: "--bogus"},
		"unknown command":    {args: []string{"sreve"}, code: 2, says: "sreve"},
		"argument too many":  {args: []string{"serve", "now"}, code: 2, says: "now"},
		"no folder":          {args: []string{"serve"}, code: 2, says: "--data-dir"},
		"for others":         {args: []string{"serve", "--data-dir", dir, "--listen", "0.0.0.0:0"}, code: 2, says: "--insecure-http"},
		"variable":           {args: []string{"serve", "--data-dir", dir}, env: []string{"AXLE_HUB_LISTEN=0.0.0.0:0"}, code: 2, says: "0.0.0.0:0"},
		"variable is no use": {args: []string{"serve", "--data-dir", dir}, env: []string{"AXLE_HUB_REPO_POLL_INTERVAL=soon"}, code: 2, says: "AXLE_HUB_REPO_POLL_INTERVAL"},
		"git server":         {args: []string{"git-server", "--dir", dir, "--repository", "fleet"}, code: 2, says: "--password-file"},
		"networks":           {args: []string{"serve", "--data-dir", dir, "--allow-upstream-cidrs", "10.0.0.0"}, code: 2, says: "10.0.0.0/8"},
		"folder in use":      {args: []string{"serve", "--data-dir", dir, "--listen", "127.0.0.1:0"}, code: 1, says: "another hub"},
		"restore, in use":    {args: []string{"restore", file, "--data-dir", dir}, code: 1, says: "another hub"},
		"backup, in use":     {args: []string{"backup", file, "--data-dir", dir}, says: file},
	}
	for _, name := range []string{"version", "help", "unknown flag", "unknown command", "argument too many", "no folder", "for others", "variable", "variable is no use", "git server", "networks", "folder in use", "backup, in use", "restore, in use"} {
		tc := tests[name]
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program(t), tc.args...)
			cmd.Env = append(os.Environ(), tc.env...)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != tc.code || !strings.Contains(string(out), tc.says) {
				t.Errorf("exit code %d: %s", code, out)
			}
		})
	}
}

func TestBackupComesBackUnconfirmed(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "hub.backup")
	running := serve(t, dir)
	run(t, "backup", file, "--data-dir", dir)
	// Images have nothing else that prints a file.
	key, err := os.ReadFile(filepath.Join(dir, "hub.key"))
	if out := run(t, "admin", "key", "--data-dir", dir); err != nil || out != string(key) {
		t.Errorf("the key is printed as %d bytes, and has %d: %v", len(out), len(key), err)
	}
	if err := running.signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if out := run(t, "restore", file, "--data-dir", dir); !strings.Contains(out, "axle hub confirm-restore") {
		t.Errorf("restore says %s", out)
	}
	restored := serve(t, dir)
	if line, err := restored.out.ReadString('\n'); err != nil || !strings.Contains(line, "axle hub confirm-restore") {
		t.Errorf("second line %q, %v", line, err)
	}
}

func run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return string(out)
}
