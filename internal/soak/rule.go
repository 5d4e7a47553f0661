package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Command is what makes a run and its line of the record.
const Command = "make soak && git add " + File + " && git commit -m 'test: a soak run' " + File

// State is what the record says about the commit that is checked out.
type State struct {
	// Recorded: there is a run, so that landings are held to the rule.
	Recorded bool
	// Before is the newest run that passed on this commit or one before it, if any.
	Before *Run
	// Covers is the newest of those since which no folder of Folders changed, if any.
	Covers *Run
	// Changed are the folders that changed since Before.
	Changed []string
	// Age is how long ago Before ended.
	Age time.Duration
}

// Look reads the record of a checkout and asks git about its commits.
func Look(ctx context.Context, root string, now time.Time) (State, error) {
	runs, err := Read(root)
	if err != nil {
		return State{}, err
	}
	s := State{Recorded: len(runs) > 0}
	if !s.Recorded {
		return s, nil
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return b.Ended.Compare(a.Ended) })
	for _, r := range runs {
		if !r.Passed {
			continue
		}
		before, err := ask(ctx, root, "merge-base", "--is-ancestor", r.Commit, "HEAD")
		if err != nil {
			return State{}, err
		}
		if !before {
			continue
		}
		changed, err := changed(ctx, root, r.Commit)
		if err != nil {
			return State{}, err
		}
		if s.Before == nil {
			s.Before, s.Changed, s.Age = &r, changed, now.Sub(r.Ended)
		}
		if len(changed) == 0 {
			s.Covers = &r
			return s, nil
		}
	}
	return s, nil
}

// changed returns the folders that differ from a commit.
func changed(ctx context.Context, root, commit string) ([]string, error) {
	var folders []string
	for _, folder := range Folders {
		same, err := ask(ctx, root, "diff", "--quiet", commit, "HEAD", "--", folder)
		if err != nil {
			return nil, err
		}
		if !same {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}

// ask asks git a question with a yes or a no. A commit that this clone does not have is
// not before any other.
func ask(ctx context.Context, root string, args ...string) (bool, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir, command.Env = root, append(os.Environ(), "LC_ALL=C")
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &exit) && (exit.ExitCode() == 1 || args[0] == "merge-base" && strings.Contains(string(out), "Not a valid commit name")):
		return false, nil
	}
	return false, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
}

// Due says why a run is due, for people; it is empty while none is. A release needs that.
func (s State) Due() string {
	why := ""
	switch {
	case !s.Recorded:
		why = fmt.Sprintf("no run is recorded in %s; from the first one on, a change of %s needs one", File, strings.Join(Folders, ", "))
	case s.Before == nil:
		why = fmt.Sprintf("%s has no run that passed on a commit before this one, or this clone lacks it (git fetch --unshallow)", File)
	case s.Covers == nil:
		why = fmt.Sprintf("%s changed since the last run that passed, of %.12s", strings.Join(s.Changed, ", "), s.Before.Commit)
	case s.Age > Week:
		why = fmt.Sprintf("the last run that passed, of %.12s, was %d days ago", s.Before.Commit, int(s.Age.Hours()/24))
	default:
		return ""
	}
	return "soak is due: " + why + ". Run it: " + Command
}

// Refused reports whether a landing is refused for what is due: from the first run on, one
// must cover the folders.
func (s State) Refused() bool { return s.Recorded && s.Covers == nil }
