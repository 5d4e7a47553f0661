package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestBudgetsOfTheSuiteAreRead(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("../../..", budgetsFile))
	if err != nil {
		t.Fatal(err)
	}
	all, err := readBudgets(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		for _, folder := range b.folders {
			if tests, err := filepath.Glob(filepath.Join("../../..", folder, "*_test.go")); err != nil || len(tests) == 0 {
				t.Errorf("%s: %s has no tests: %v", b.name, folder, err)
			}
		}
	}
	for _, line := range []string{"Clusters 300 7 -", "Clusters many 7 - what", "Clusters 300 few - what"} {
		if _, err := readBudgets(line); err == nil {
			t.Errorf("%q is read", line)
		}
	}
}

// A part that has tests comes on top of what a run may take, and is compared in seconds
// of the machine of the reference.
func TestBudgetsOnTopOfEachOther(t *testing.T) {
	all, err := readBudgets("css 8cal 1 - one CSS file\nClusters 100 2 test/a,test/b made by the hub\nStacks 50 1 - none yet\n")
	if err != nil {
		t.Fatal(err)
	}
	r := &record{Kind: "css", Calibration: referenceCalibration * 2}
	r.Steps = []step{{CPU: 690, Programs: map[string]use{apiServer: {Started: 3}}, Folders: map[string]use{"test/a": {CPU: 90, APIServers: 2}, "test/b": {CPU: 100}, "test/c": {CPU: 300}}}}
	if lines := r.check(all); len(lines) != 1 || !strings.HasSuffix(lines[0], "is within them") {
		t.Errorf("within all of them: %q", lines)
	}
	r.Steps = append(r.Steps, step{CPU: 10, Programs: map[string]use{apiServer: {Started: 1}}, Folders: map[string]use{"test/b": {CPU: 11, APIServers: 1}}})
	want := []string{
		"part Clusters took 100 CPU-s of the reference machine, its budget is 100",
		"part Clusters started 3 API servers, its budget is 2",
		"the run as css took 350 CPU-s of the reference machine, its budget is 348",
		"the run as css started 4 API servers, its budget is 3",
	}
	if lines := r.check(all); !slices.Equal(lines, want) {
		t.Errorf("above: %q", lines)
	}
	r.Steps[1].Failed = true
	if lines := r.check(all); len(lines) != 1 || !strings.HasSuffix(lines[0], "failed, so that it measures nothing") {
		t.Errorf("a run that failed: %q", lines)
	}
}
