package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// record is a run of the suite.
type record struct {
	Began  time.Time `json:"began"`
	Commit string    `json:"commit"`
	// Kind is what the run is measured as: cold, store or css (test/budgets.txt).
	Kind       string `json:"kind,omitempty"`
	Processors int    `json:"processors"`
	// Calibration is the processor time of go build std on this machine.
	Calibration float64 `json:"calibration,omitempty"`
	Steps       []step  `json:"steps"`
}

// dirty ends the commit of a checkout that has changes, new files included.
const dirty = "-dirty"

func newRecord() *record {
	// Without git, or in an archive, the commit is unknown.
	described, _ := exec.Command("git", "describe", "--always", "--abbrev=12", "--exclude=*").Output()
	commit := strings.TrimSpace(string(described))
	if changes, _ := exec.Command("git", "status", "--porcelain").Output(); len(changes) > 0 {
		commit += dirty
	}
	return &record{Began: time.Now().UTC().Truncate(time.Second), Commit: commit, Kind: os.Getenv("AXLE_SUITE_RUN"), Processors: runtime.NumCPU()}
}

func start() error { return newRecord().write() }

func readRecord() (*record, error) {
	content, err := os.ReadFile(recordFile)
	if err != nil {
		return nil, err
	}
	var r record
	return &r, json.Unmarshal(content, &r)
}

// write replaces the file as a whole.
func (r *record) write() error {
	content, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(recordFile), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(recordFile+".new", append(content, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(recordFile+".new", recordFile)
}

// add adds a step; one of the same name goes on.
func (r *record) add(s step) {
	for i := range r.Steps {
		if r.Steps[i].Name == s.Name {
			r.Steps[i].merge(s)
			return
		}
	}
	r.Steps = append(r.Steps, s)
}

func (s *step) merge(o step) {
	s.CPU, s.Seconds, s.Failed = s.CPU+o.CPU, s.Seconds+o.Seconds, s.Failed || o.Failed
	s.TestBinaries, s.Cached, s.Axe = s.TestBinaries+o.TestBinaries, s.Cached+o.Cached, s.Axe+o.Axe
	s.Flaky = append(s.Flaky, o.Flaky...)
	s.Programs, s.Folders = sum(s.Programs, o.Programs), sum(s.Folders, o.Folders)
}

func sum(a, b map[string]use) map[string]use {
	all := map[string]use{}
	for _, m := range []map[string]use{a, b} {
		for name, u := range m {
			all[name] = use{all[name].CPU + u.CPU, all[name].Started + u.Started, all[name].APIServers + u.APIServers}
		}
	}
	return all
}

// calibrate measures what go build std takes into an empty cache: for a run in which tests
// ran, since it is most of what a second run takes.
func calibrate() error {
	r, err := readRecord()
	if err != nil {
		return err
	}
	if t := r.total(); t.TestBinaries == 0 && t.Cached > 0 {
		fmt.Println("all results of tests were cached: the machine is not measured")
		return nil
	}
	cache, err := os.MkdirTemp("", "suite-calibration")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	cmd := exec.Command("go", "build", "std")
	cmd.Env = append(os.Environ(), "GOCACHE="+cache, "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build std: %w\n%s", err, out)
	}
	r.Calibration = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return r.write()
}
