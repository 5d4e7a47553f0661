package skew_test

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/store"
)

// released are the versions whose records must not change, each with its commit.
func released(t *testing.T) map[int]string {
	t.Helper()
	text, err := os.ReadFile("testdata/released")
	must(t, err)
	all := map[int]string{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		minor, commit, ok := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(minor)
		if !ok || err != nil || len(commit) != 40 {
			t.Fatalf("testdata/released: %q is no minor version with its commit", line)
		}
		all[n] = commit
	}
	return all
}

// Every release that may still be met has its record: that of deploy/previous-release
// and, once there are so many, the three before the version of this tree.
func TestReleasesHaveTheirRecords(t *testing.T) {
	all := released(t)
	text, err := os.ReadFile("../../deploy/previous-release")
	must(t, err)
	fields := strings.Fields(string(text))
	newest := slices.Max(slices.Collect(maps.Keys(all)))
	if previous := fields[len(fields)-1]; all[newest] != previous {
		t.Errorf("deploy/previous-release names %s, and the newest of testdata/released is 0.%d of %s: docs/checklists/cut-a-release.md", previous, newest, all[newest])
	}
	have := minors(t)
	for n := range all {
		if n >= store.SchemaMinor-3 && !slices.Contains(have, n) {
			t.Errorf("0.%d was released, and has no record", n)
		}
	}
	for _, n := range have {
		if n < store.SchemaMinor-3 {
			t.Errorf("the record of 0.%d is older than N-3, which need not work: remove it", n)
		}
		if all[n] == "" && n != store.SchemaMinor {
			t.Errorf("the record of 0.%d is of no release, and not of this tree", n)
		}
	}
	for n := max(newest-3, slices.Min(slices.Collect(maps.Keys(all)))); n <= newest; n++ {
		if all[n] == "" {
			t.Errorf("0.%d is not in testdata/released, and 0.%d is", n, newest)
		}
	}
}
