package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The flakes of the past are found, and nothing in tests that wait for what they assert.
func TestFindsTheFlakesOfThePast(t *testing.T) {
	problems, err := look(t.Context(), ".", []string{"./testdata/flakes", "./testdata/sound", "./testdata/world"})
	if err != nil {
		t.Fatal(err)
	}
	var found, want []string
	for _, p := range problems {
		place, _, _ := strings.Cut(p, ": ")
		found = append(found, filepath.Base(place))
	}
	for _, name := range []string{"testdata/flakes/flakes.go", "testdata/sound/sound.go", "testdata/world/world.go", "testdata/world/testdata/script.txtar"} {
		want = append(want, marked(t, name)...)
	}
	slices.Sort(found)
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q:\n%s", found, want, strings.Join(problems, "\n"))
	}
}

// marked are the lines of a file that end with the word want.
func marked(t *testing.T, name string) (lines []string) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	for n := 1; scanner.Scan(); n++ {
		if text := scanner.Text(); strings.HasSuffix(text, "// want") || strings.HasSuffix(text, "# want") {
			lines = append(lines, fmt.Sprintf("%s:%d", filepath.Base(name), n))
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}
