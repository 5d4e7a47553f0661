package testrun_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// TestFullDiskCostsOnlyTheMemory: with a full disk tests run, are reported to the hub
// and open the gate; stored results stay intact, and an agent that then starts comes
// to the same result.
func TestFullDiskCostsOnlyTheMemory(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.stop()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatalf("a small disk needs the right to mount tmpfs, run the tests as root: %v", err)
	}
	t.Cleanup(func() {
		s.stop()
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s.file = filepath.Join(dir, "tests.json")
	s.start()
	test := s.job("good", "echo hello")
	passed := func(key string) func(*agentv1.TestRun) bool {
		return func(r *agentv1.TestRun) bool { return r.GetKey() == key && r.GetState() == "Passed" }
	}
	s.want("k1", test)
	s.until("the first run", passed("k1"))
	s.stop()
	before := s.stored()
	if before == "" {
		t.Fatal("nothing is stored while there is room")
	}

	fill(t, filepath.Join(dir, "filler"))
	s.start()
	s.want("k2", test)
	s.until("a run with a full disk", passed("k2"))
	if gate := s.gate(); gate != "" {
		t.Errorf("the gate: %q", gate)
	}
	s.stop()
	if after := s.stored(); after != before {
		t.Errorf("what was stored is %q now, and was %q", after, before)
	}
	s.start()
	s.want("k2", test)
	s.until("a restart with a full disk", passed("k2"))

	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	s.want("k3", test)
	s.until("a run once there is room", passed("k3"))
	s.stop()
	if after := s.stored(); after == before {
		t.Error("nothing is stored once there is room again")
	}
}

// stored is the file, which must be whole.
func (s *stage) stored() string {
	s.t.Helper()
	text, err := os.ReadFile(s.file)
	if err != nil || !json.Valid(text) {
		s.t.Errorf("the file holds %q, %v", text, err)
	}
	return string(text)
}

// fill takes all the room that a disk has.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 512)); err != nil {
			return
		}
	}
}
