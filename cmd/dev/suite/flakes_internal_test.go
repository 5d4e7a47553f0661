package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// flakesAtMost is the length of test/flakes.txt. It only shrinks: whoever raises it says
// here why the flake is not mended.
const flakesAtMost = 0

func TestFlakesOnlyBecomeFewer(t *testing.T) {
	known, err := readFlakes(filepath.Join("../../..", flakesFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(known) > flakesAtMost {
		t.Errorf("%s has %d names, at most %d: mend the test in place of listing it", flakesFile, len(known), flakesAtMost)
	}
	if len(known) < flakesAtMost {
		t.Errorf("%s has %d names: lower flakesAtMost from %d", flakesFile, len(known), flakesAtMost)
	}
}

func TestLinesOfFlakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flakes.txt")
	for line, want := range map[string]string{
		"example.com/a TestA — waits for B":  "",
		"example.com/a TestA":                "want",
		"example.com/a TestA — ":             "want",
		"TestA — which package":              "want",
		"example.com/a TestA TestB — both":   "want",
		"# example.com/a TestA: no line yet": "",
	} {
		if err := os.WriteFile(file, []byte("\n"+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		known, err := readFlakes(file)
		if want == "" && (err != nil || strings.HasPrefix(line, "example") != (known["example.com/a TestA"] == "waits for B")) {
			t.Errorf("%q: %v, %v", line, known, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), file+":2: "+want)) {
			t.Errorf("%q: %v", line, err)
		}
	}
}
