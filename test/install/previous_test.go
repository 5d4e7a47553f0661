package install_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// previousCommit is the one in deploy/previous-release.
func previousCommit(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/previous-release")
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	t.Fatal("deploy/previous-release names no commit")
	return ""
}

// The file names a commit of this repository that has the chart, so that make soak does
// not fail for it after an hour.
func TestPreviousReleaseIsACommitWithTheChart(t *testing.T) {
	commit := previousCommit(t)
	if out, err := exec.CommandContext(t.Context(), "git", "cat-file", "-e", commit+":deploy/charts/axle/Chart.yaml").CombinedOutput(); err != nil {
		t.Errorf("%s: %v: in a checkout without history, run git fetch --unshallow\n%s", commit, err, out)
	}
}
