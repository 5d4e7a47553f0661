package gitagent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitagent"
	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/eventually"
)

const (
	patience = time.Minute
	// ownerEnv makes this binary a hub that runs one long git command.
	ownerEnv = "AXLE_TEST_OWNER"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "git-guard" {
		os.Exit(gitagent.GuardMain(os.Args[2:]))
	}
	if dir := os.Getenv(ownerEnv); dir != "" {
		_ = guard().Run(context.Background(), long(dir))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func guard() gitagent.Guard { return gitagent.Guard{Command: []string{os.Args[0], "git-guard"}} }

// long is a git command that runs for an hour and can be identified.
func long(dir string) gitexec.Command {
	return gitexec.Command{Dir: dir, Args: []string{"-c", "alias.wait=!echo $$ > pid && exec sleep 3600", "wait"}}
}

func bare(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "m.git")
	if out, err := exec.Command("git", "init", "-q", "--bare", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func pidOf(t *testing.T, dir string) int {
	t.Helper()
	var pid int
	eventually.For(t, patience, "git to run", func() error {
		raw, err := os.ReadFile(filepath.Join(dir, "pid"))
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(raw)))
		}
		return err
	})
	return pid
}

func ended(t *testing.T, pid int, limit time.Duration) {
	t.Helper()
	eventually.For(t, limit, "git to end", func() error {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(raw), ") Z ") {
			return nil
		}
		return errors.New("it runs")
	})
}

func TestGuardPassesThrough(t *testing.T) {
	var out bytes.Buffer
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.WriteString("from a pipe")
	_ = w.Close()
	err = guard().Run(t.Context(), gitexec.Command{Dir: bare(t), Args: []string{"-c", "alias.x=!cat; cat <&3; echo $AXLE_GUARD_FILES$MARK", "x"},
		Env: []string{"MARK=mark"}, Stdin: strings.NewReader("stdin "), Stdout: &out, Files: []*os.File{r}})
	if err != nil || out.String() != "stdin from a pipemark\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	err = guard().Run(t.Context(), gitexec.Command{Dir: bare(t), Args: []string{"rev-parse", "--verify", "nothing"}})
	var failed *gitexec.Error
	if !errors.As(err, &failed) || failed.Code != 128 || !strings.Contains(failed.Words, "single revision") {
		t.Errorf("failure is %v", err)
	}
}

func TestGuardEndsGitWhenToldTo(t *testing.T) {
	dir := bare(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- guard().Run(ctx, long(dir)) }()
	pid := pidOf(t, dir)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	ended(t, pid, patience)
}

// TestGuardEndsGitOfAKilledHub tests the purpose of the guard. The next test
// runs the same hub without one, and its git survives.
func TestGuardEndsGitOfAKilledHub(t *testing.T) {
	dir := bare(t)
	hub := startOwner(t, dir)
	pid := pidOf(t, dir)
	_ = hub.Process.Kill()
	_ = hub.Wait()
	ended(t, pid, gitagent.GuardTimeout) // at once, not by the timeout
}

func TestWithoutAGuardGitLivesOn(t *testing.T) {
	dir := bare(t)
	cmd := exec.Command("sh", "-c", `git -c alias.wait='!echo $$ > pid && exec sleep 3600' wait & wait`)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := pidOf(t, dir)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := syscall.Kill(pid, 0); err != nil {
		t.Errorf("git ended by itself (%v); the guard's test shows nothing", err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// TestGuardEndsGitOfAFrozenHub suspends a hub, so that its pipe stays open but
// no heartbeat comes.
func TestGuardEndsGitOfAFrozenHub(t *testing.T) {
	t.Parallel()
	dir := bare(t)
	hub := startOwner(t, dir)
	pid := pidOf(t, dir)
	frozen := time.Now()
	if err := hub.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ended(t, pid, gitagent.GuardTimeout+patience)
	// By the timeout, which runs since the last heartbeat before.
	if d := time.Since(frozen); d < gitagent.GuardTimeout/2 {
		t.Errorf("ended after %v already", d)
	}
	if gitagent.GuardTimeout >= record.LeaseTTL+record.TakeOverGrace {
		t.Error("a frozen hub's fetch would live longer than its lease")
	}
}

func startOwner(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerEnv+"="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// TestGuardsOfOneMirrorWait checks that a second fetch of a mirror does not
// begin while any process of the first lives.
func TestGuardsOfOneMirrorWait(t *testing.T) {
	dir := bare(t)
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- guard().Run(ctx, long(dir)) }()
	pidOf(t, dir)
	go func() {
		second <- guard().Run(t.Context(), gitexec.Command{Dir: dir, Args: []string{"rev-parse", "--git-dir"}})
	}()
	select {
	case err := <-second:
		t.Errorf("the second ran beside the first: %v", err)
	case <-time.After(500 * time.Millisecond):
	}
	cancel()
	<-first
	if err := <-second; err != nil {
		t.Error(err)
	}
}
