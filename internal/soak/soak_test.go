package soak_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/soak"
)

// repository is a checkout with a history of its own.
type repository struct {
	t    *testing.T
	root string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t, t.TempDir()}
	r.git("init", "-q", "-b", "main")
	for _, folder := range append([]string{"test"}, soak.Folders...) {
		r.write(folder+"/x", "1")
	}
	r.commit()
	return r
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	command.Dir = r.root
	out, err := command.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repository) write(file, text string) {
	r.t.Helper()
	path := filepath.Join(r.root, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// commit commits everything and returns the commit.
func (r *repository) commit() string {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "-q", "-m", "x", "--allow-empty")
	return r.git("rev-parse", "HEAD")
}

// change commits a change of a file.
func (r *repository) change(file string) {
	r.t.Helper()
	r.write(file, r.git("rev-parse", "HEAD"))
	r.commit()
}

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// soaked records and commits a run of HEAD.
func (r *repository) soaked(passed bool, age time.Duration) {
	r.t.Helper()
	run := soak.Run{Commit: r.git("rev-parse", "HEAD"), Ended: now.Add(-age), Passed: passed, Machine: soak.Machine(), Steps: []string{"world", "install"}}
	if err := soak.Add(r.root, run); err != nil {
		r.t.Fatal(err)
	}
	r.commit()
}

func TestWhatALandingAndAReleaseNeed(t *testing.T) {
	const day = 24 * time.Hour
	for name, tc := range map[string]struct {
		history func(r *repository)
		due     string // part of what is said; empty: nothing is due
		refused bool   // the landing
	}{
		"no record":                       {func(*repository) {}, "no run is recorded in test/soak-record.txt", false},
		"no record, and a folder changed": {func(r *repository) { r.change("deploy/x") }, "a change of deploy, cmd/release, hub/store/sqldb needs one", false},
		"a run of the commit before":      {func(r *repository) { r.soaked(true, day) }, "", false},
		"other folders changed since": {func(r *repository) {
			r.soaked(true, day)
			r.change("hub/store/x")
			r.change("docs/x")
		}, "", false},
		"deploy changed since": {func(r *repository) {
			r.soaked(true, day)
			r.change("deploy/charts/x")
		}, "soak is due: deploy changed since the last run that passed, of ", true},
		"the release changed since": {func(r *repository) {
			r.soaked(true, day)
			r.change("cmd/release/x")
		}, "cmd/release changed since", true},
		"the database changed since": {func(r *repository) {
			r.soaked(true, day)
			r.change("hub/store/sqldb/x")
		}, "hub/store/sqldb changed since", true},
		"changed, and changed back": {func(r *repository) {
			r.soaked(true, day)
			r.change("deploy/x")
			r.write("deploy/x", "1")
			r.commit()
		}, "", false},
		"changed, and run again": {func(r *repository) {
			r.soaked(true, 2*day)
			r.change("deploy/x")
			r.soaked(true, day)
		}, "", false},
		"the run failed": {func(r *repository) { r.soaked(false, day) }, "has no run that passed on a commit before this one", true},
		"the next run failed": {func(r *repository) {
			r.soaked(true, 2*day)
			r.change("deploy/x")
			r.soaked(false, day)
		}, "deploy changed since", true},
		"a run of another branch": {func(r *repository) {
			r.git("checkout", "-q", "-b", "other")
			r.change("deploy/x")
			r.soaked(true, day)
			r.git("checkout", "-q", "main")
			r.git("checkout", "-q", "other", "--", soak.File)
			r.commit()
		}, "before this one, or this clone lacks it", true},
		"a run of a commit that is gone": {func(r *repository) {
			r.write(soak.File, "0123456789012345678901234567890123456789 "+now.Format(time.RFC3339)+" passed linux/amd64/2-processors world\n")
			r.commit()
		}, "(git fetch --unshallow)", true},
		"a week ago":       {func(r *repository) { r.soaked(true, soak.Week) }, "", false},
		"longer than that": {func(r *repository) { r.soaked(true, 8*day) }, ", was 8 days ago", false},
		"an old run covers, a newer one does not": {func(r *repository) {
			r.soaked(true, 9*day)
			r.change("deploy/x")
			r.soaked(true, 8*day)
			r.write("deploy/x", "1")
			r.commit()
		}, ", was 8 days ago", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t)
			tc.history(r)
			s, err := soak.Look(t.Context(), r.root, now)
			if err != nil {
				t.Fatal(err)
			}
			due := s.Due()
			if (due == "") != (tc.due == "") || !strings.Contains(due, tc.due) {
				t.Errorf("due: %q, want %q", due, tc.due)
			}
			if due != "" && !strings.HasSuffix(due, ". Run it: "+soak.Command) {
				t.Errorf("%q does not say how to run it", due)
			}
			if s.Refused() != tc.refused {
				t.Errorf("refused: %v, want %v", s.Refused(), tc.refused)
			}
		})
	}
}

func TestRecordIsALineARun(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "test"), 0o700); err != nil {
		t.Fatal(err)
	}
	runs := []soak.Run{
		{Commit: strings.Repeat("a", 40), Ended: now, Passed: true, Machine: soak.Machine(), Steps: []string{"world", "install"}},
		{Commit: strings.Repeat("b", 40), Ended: now.Add(time.Hour), Machine: soak.Machine(), Steps: []string{"!world"}},
	}
	for _, r := range runs {
		if err := soak.Add(root, r); err != nil {
			t.Fatal(err)
		}
	}
	have, err := soak.Read(root)
	if err != nil || len(have) != 2 || have[0].String() != runs[0].String() || have[1].String() != runs[1].String() || have[1].Passed {
		t.Errorf("%v, %v", have, err)
	}
	for _, line := range []string{"HEAD 2026-03-04T05:06:07Z passed m s", strings.Repeat("a", 40) + " today passed m s", strings.Repeat("a", 40) + " 2026-03-04T05:06:07Z ok m s", "x"} {
		if err := os.WriteFile(filepath.Join(root, soak.File), []byte("# head\n"+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := soak.Add(root, runs[0]); err == nil || !strings.HasPrefix(err.Error(), soak.File+":2: ") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestAFolderWithoutGitIsAnError(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "test"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := soak.Add(root, soak.Run{Commit: strings.Repeat("a", 40), Ended: now, Passed: true, Machine: "m", Steps: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(root))
	if s, err := soak.Look(t.Context(), root, now); err == nil {
		t.Errorf("%+v", s)
	}
}
