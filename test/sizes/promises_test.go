package sizes_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromisesHaveTests holds that each line of test/field/promises.txt has a test, a row of one
// or a case that exists.
func TestPromisesHaveTests(t *testing.T) {
	text, err := os.ReadFile(root + "/test/field/promises.txt")
	if err != nil {
		t.Fatal(err)
	}
	known, promises := tests(t), 0
	part := regexp.MustCompile(`"[^"]+"|\S+`)
	for n, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		promises++
		what, proof, ok := strings.Cut(line, " | ")
		if !ok || what == "" || proof == "" {
			t.Fatalf("line %d is not WHAT HOLDS | TESTS: %s", n+1, line)
		}
		folder := ""
		for _, one := range part.FindAllString(proof, -1) {
			row, quoted := strings.CutPrefix(one, `"`)
			switch _, err := os.Stat(filepath.Join(root, one)); {
			case quoted:
				if row = strings.TrimSuffix(row, `"`); !said(t, folder, row) {
					t.Errorf("line %d: no test file of %s has %q", n+1, folder, row)
				}
			case known[one]:
				folder = one[:strings.LastIndexByte(one, '.')]
			case err != nil:
				t.Errorf("line %d: there is no test and no file %s", n+1, one)
			}
		}
	}
	if promises < 50 {
		t.Errorf("%d promises were found", promises)
	}
}

// said reports whether a test file of a folder has a text.
func said(t *testing.T, folder, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if folder == "" || err != nil {
		return false
	}
	for _, file := range files {
		all, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(all), text) {
			return true
		}
	}
	return false
}
