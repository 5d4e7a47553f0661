package world_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/test/world"
)

// recorded reads a run that was kept.
func recorded(t *testing.T, name string) (r world.Run) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "cdn", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCheckerPassesAGoodRun(t *testing.T) {
	for _, v := range world.Check(recorded(t, "good")) {
		t.Error(v)
	}
}

// TestCheckerFailsOnBadRuns holds that each invariant is really judged: for
// each there is a run that broke it, and nothing else.
func TestCheckerFailsOnBadRuns(t *testing.T) {
	files, err := filepath.Glob("testdata/cdn/bad-*.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[world.Invariant]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			run := recorded(t, name)
			var got []world.Invariant
			for _, v := range world.Check(run) {
				t.Log(v)
				got = append(got, v.Invariant)
			}
			invariant, _, _ := strings.Cut(strings.TrimPrefix(name, "bad-"), ".")
			want := []world.Invariant{world.Invariant(invariant)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("wrong judgement (-want +got):\n%s", diff)
			}
			seen[want[0]] = true
		})
	}
	for _, i := range world.Invariants {
		if !seen[i] {
			t.Errorf("no recorded run breaks %s: add testdata/cdn/bad-%s.json", i, i)
		}
	}
}
