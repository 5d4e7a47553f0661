package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// step is what one step took, as the record has it.
type step struct {
	Name    string  `json:"name"`
	CPU     float64 `json:"cpu"`
	Seconds float64 `json:"seconds"`
	Failed  bool    `json:"failed,omitempty"`
	// TestBinaries ran, Cached are packages whose result go knew.
	TestBinaries int            `json:"testBinaries,omitempty"`
	Cached       int            `json:"cached,omitempty"`
	Axe          int            `json:"axe,omitempty"`
	Programs     map[string]use `json:"programs"`
	Folders      map[string]use `json:"folders,omitempty"`
	Flaky        []string       `json:"flaky,omitempty"`
}

// runStep runs a command as a step and returns its exit code.
func runStep(name string, command []string) (int, error) {
	m, err := newMeter()
	if err != nil {
		return 1, err
	}
	defer os.Remove(m.counts)
	began := time.Now()
	s := step{Name: name}
	var code int
	if len(command) > 2 && command[0] == "go" && command[1] == "test" {
		code, err = m.keeping(func() (int, error) { return m.goTestStep(&s, command) })
	} else if code, err = m.plain(command); code != 0 {
		// A go test lists its failures by itself.
		fmt.Printf("\nFAIL: %s\n  Run it: %s\n", name, shell(command))
	}
	s.Seconds, s.Failed = time.Since(began).Seconds(), code != 0 || err != nil
	return code, errors.Join(err, m.record(&s))
}

// plain runs a command that is no go test.
func (m *meter) plain(command []string) (int, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	wait, err := m.start(cmd)
	if err != nil {
		return 127, err
	}
	return wait()
}

// count counts the packages of a go test.
func (s *step) count(packages map[string]*result) {
	for _, r := range packages {
		switch {
		case r.cached:
			s.Cached++
		case r.complete:
			s.TestBinaries++
		}
	}
}

// record adds a step that ended to the record.
func (m *meter) record(s *step) error {
	cpu, err := m.end()
	if err != nil {
		return err
	}
	s.CPU = cpu.Seconds()
	s.Programs, s.Folders = m.seen.byProgram(cpu), map[string]use{}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	for folder, u := range m.seen.byFolder() {
		s.Folders[strings.TrimPrefix(strings.TrimPrefix(folder, here), "/")] = u
	}
	counted, err := os.ReadFile(m.counts)
	if err != nil {
		return err
	}
	for word := range strings.FieldsSeq(string(counted)) {
		if word == "axe" {
			s.Axe++
		}
	}
	r, err := readRecord()
	if errors.Is(err, os.ErrNotExist) {
		r, err = newRecord(), nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", recordFile, err)
	}
	r.add(*s)
	return r.write()
}
