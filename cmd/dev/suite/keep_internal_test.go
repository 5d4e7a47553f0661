package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
)

// What a step keeps for its tests ends with the step, and which step it was is no input of
// their results.
func TestStepKeepsPrograms(t *testing.T) {
	m := newModule(t)
	if err := syscall.Mkfifo(filepath.Join(m.state, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := m.suite("plain", "--", "go", "test", "-vet=off", "./keeps")
	if code != 0 || !strings.HasSuffix(out, "\na note of a test\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	pid := m.kept()
	if err := keptRuns(pid); err == nil {
		t.Errorf("process %s outlives the step", pid)
	}
	if _, ok := m.record().Steps[0].Folders[keptFolder]; !ok {
		t.Errorf("what was kept is not measured: %+v", m.record())
	}
	if out, code := m.suite("plain", "--", "go", "test", "-vet=off", "./keeps"); code != 0 || !strings.Contains(out, "keeps\t(cached)") {
		t.Errorf("the second run: exit code %d\n%s", code, out)
	}
}

// What a step keeps ends with the step even if that is killed.
func TestKilledStepKeepsNothing(t *testing.T) {
	m := newModule(t)
	if err := syscall.Mkfifo(filepath.Join(m.state, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temporary := t.TempDir()
	cmd := exec.CommandContext(t.Context(), self, "plain", "--", "go", "test", "-vet=off", "-timeout=20s", "./keeps", "./lasting")
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "SUITE_COMMAND=1", "STATE="+m.state, "GOFLAGS=-trimpath -buildvcs=false", "CGO_ENABLED=0", "TMPDIR="+temporary)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, time.Minute, "the program", func() error {
		if pid := m.kept(); pid == "" || keptRuns(pid) != nil {
			return errors.New("it does not run yet")
		}
		return nil
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually.For(t, time.Minute, "the end of what was kept", func() error {
		left, err := filepath.Glob(filepath.Join(temporary, "axle-suite-*"))
		if keptRuns(m.kept()) == nil || len(left) > 0 || err != nil {
			return errors.New("it runs, or left " + strings.Join(left, " "))
		}
		return nil
	})
}

// kept is the number of the process that TestKeeps has kept last.
func (m *module) kept() string {
	text, _ := os.ReadFile(filepath.Join(m.state, "kept")) // it is not there at first
	fields := strings.Fields(string(text))
	if len(fields) == 0 {
		return ""
	}
	return fields[len(fields)-1]
}

// keptRuns is an error unless the process runs.
func keptRuns(pid string) error {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err == nil && strings.Contains(string(stat), ") Z ") {
		err = errors.New("it has ended")
	}
	return err
}
