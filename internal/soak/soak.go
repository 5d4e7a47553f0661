// Package soak reads and writes the record of make soak, and judges by it what a release
// and a landing need (ADR 138).
//
// The record is a file of the repository, a line a run. It names the commit that ran, so
// that git says what changed since.
package soak

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

const (
	// File is the record, below the root of the checkout.
	File = "test/soak-record.txt"
	// Week is how long a run counts for what is in no folder of Folders.
	Week = 7 * 24 * time.Hour
)

// Folders are those whose changes need a run: what is installed, what is released, and
// what asks a database in transactions. make test looks at them least.
var Folders = []string{"deploy", "cmd/release", "hub/store/sqldb"}

// Run is a line of the record.
type Run struct {
	// Commit is what ran, a whole hash.
	Commit string
	// Ended is when.
	Ended time.Time
	// Passed is the verdict.
	Passed bool
	// Machine is what it ran on, as Machine returns it.
	Machine string
	// Steps are those that ran, in their order; one that failed has a "!" before its name.
	Steps []string
}

// Machine describes this machine without naming it.
func Machine() string {
	return fmt.Sprintf("%s/%s/%d-processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// String is the line of a run.
func (r Run) String() string {
	verdict := "failed"
	if r.Passed {
		verdict = "passed"
	}
	return strings.Join([]string{r.Commit, r.Ended.UTC().Format(time.RFC3339), verdict, r.Machine, strings.Join(r.Steps, ",")}, " ")
}

var wholeID = regexp.MustCompile(`^[0-9a-f]{40,64}$`)

// WholeID reports whether a text is the whole id of a commit, in SHA-1 or SHA-256.
func WholeID(commit string) bool { return wholeID.MatchString(commit) }

// Parse reads a record. Errors name the line.
func Parse(text string) ([]Run, error) {
	var runs []Run
	n := 0
	for line := range strings.Lines(text) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 5 || !WholeID(words[0]) || (words[2] != "passed" && words[2] != "failed") {
			return nil, fmt.Errorf("%s:%d: want COMMIT TIME passed|failed MACHINE STEP,STEP…", File, n)
		}
		ended, err := time.Parse(time.RFC3339, words[1])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", File, n, err)
		}
		runs = append(runs, Run{Commit: words[0], Ended: ended, Passed: words[2] == "passed", Machine: words[3], Steps: strings.Split(words[4], ",")})
	}
	return runs, nil
}

// Read reads the record of a checkout. One without the file has no runs.
func Read(root string) ([]Run, error) {
	text, err := os.ReadFile(filepath.Join(root, File))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Parse(string(text))
}

// head is how a record begins.
const head = `# What make soak found, a line a run; it adds them (internal/soak, ADR 138). A release and a
# landing that changes ` + "%s" + ` need a run that passed on a commit before
# them, with no change of these folders since; everything else needs one a week.
#
# COMMIT TIME VERDICT MACHINE STEPS, with a "!" before those that failed
`

// Add adds a run to the record of a checkout.
func Add(root string, r Run) error {
	file := filepath.Join(root, File)
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		text, err = fmt.Appendf(nil, head, strings.Join(Folders, ", ")), nil
	}
	if err != nil {
		return err
	}
	if _, err := Parse(string(text)); err != nil {
		return err
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return os.WriteFile(file, append(text, r.String()+"\n"...), 0o644)
}
