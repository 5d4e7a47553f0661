package program_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/program"
)

// A program that is kept is found, signalled and seen to end by whoever knows its number, and
// ends with its keeper.
func TestKeptProgram(t *testing.T) {
	folder, logs := t.TempDir(), t.TempDir()
	keeper, err := program.Keep(folder)
	must(t, err)
	first, err := program.StartKept(folder, logs, "/bin/sh", []string{"-c", "echo began; read -r _ <>$0", fifo(t)})
	must(t, err)
	second, err := program.Kept(folder, first.ID(), logs, "/bin/sh")
	must(t, err)
	if second.PID() != first.PID() || second.Ended() {
		t.Errorf("process %d, ended %v; want %d", second.PID(), second.Ended(), first.PID())
	}
	eventually.For(t, time.Minute, "its log", func() error {
		if second.Tail() != "began" {
			return errors.New(second.Tail())
		}
		return nil
	})
	must(t, second.Freeze())
	first.Signal(syscall.SIGCONT)
	second.Kill()
	eventually.For(t, time.Minute, "its end", func() error { return ended(first) })
	if _, err := program.Kept(folder, first.ID(), logs, "/bin/sh"); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("found after its end: %v", err)
	}
	if _, err := program.StartKept(folder, logs, "/no/such/program", nil); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("a program that is not there: %v", err)
	}

	last, err := program.StartKept(folder, logs, "/bin/sh", []string{"-c", "read -r _ <>$0", fifo(t)})
	must(t, err)
	must(t, keeper.Close())
	eventually.For(t, time.Minute, "the end with the keeper", func() error { return ended(last) })
	last.Kill() // of one that has ended, and whose keeper has
	if _, err := program.StartKept(folder, logs, "/bin/true", nil); err == nil {
		t.Error("a closed keeper starts a program")
	}
}

func ended(p *program.Program) error {
	if !p.Ended() {
		return errors.New("it runs")
	}
	return nil
}

// fifo is a file that a shell waits for.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	must(t, syscall.Mkfifo(path, 0o600))
	return path
}

func TestNotesAreOfAll(t *testing.T) {
	folder := t.TempDir()
	must(t, program.Note(folder, "one"))
	must(t, program.Note(folder, "two"))
	text, err := os.ReadFile(filepath.Join(folder, program.NotesFile))
	if err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
