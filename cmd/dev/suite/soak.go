package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/soak"
)

// soaked adds the run that the record has to the record of soak runs.
func soaked() error {
	r, err := readRecord()
	if err != nil {
		return err
	}
	run, err := r.soak(time.Now())
	if err != nil {
		return err
	}
	if err := soak.Add(".", run); err != nil {
		return err
	}
	fmt.Printf("recorded in %s, to be committed: %s\n", soak.File, run)
	return nil
}

// soak is the line of a run. What ran must be one commit, that which is still checked out.
func (r *record) soak(now time.Time) (soak.Run, error) {
	if len(r.Steps) == 0 {
		return soak.Run{}, errors.New("no step ran")
	}
	if strings.HasSuffix(r.Commit, dirty) {
		return soak.Run{}, fmt.Errorf("not recorded: when the run began, the checkout had changes that no commit has (%s)", r.Commit)
	}
	head, err := exec.Command("git", "rev-parse", "HEAD").Output()
	commit := strings.TrimSpace(string(head))
	if err != nil || !soak.WholeID(commit) || r.Commit == "" || !strings.HasPrefix(commit, r.Commit) {
		return soak.Run{}, fmt.Errorf("not recorded: the run began at commit %q, and %q is checked out now (%v)", r.Commit, commit, err)
	}
	run := soak.Run{Commit: commit, Ended: now, Passed: true, Machine: soak.Machine()}
	for _, s := range r.Steps {
		name := s.Name
		if s.Failed {
			run.Passed, name = false, "!"+name
		}
		run.Steps = append(run.Steps, name)
	}
	return run, nil
}

// due prints why a soak run is due, and fails when a landing is refused for it.
func due() (int, error) {
	s, err := soak.Look(context.Background(), ".", time.Now())
	if err != nil {
		return 1, err
	}
	why := s.Due()
	if why == "" {
		return 0, nil
	}
	line := strings.Repeat("=", 80)
	fmt.Printf("%s\n%s\n%s\n", line, why, line)
	if s.Refused() {
		return 1, nil
	}
	return 0, nil
}
