package pages_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// named is a test that a page names.
var named = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")

// A promise that names its test names one that exists: one that was renamed or removed
// would leave the promise without it.
func TestPromisesNameTestsThatExist(t *testing.T) {
	missing := map[string][]string{}
	for page, least := range map[string]int{"docs/security.md": 30, "docs/limits.md": 10} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		found := named.FindAllStringSubmatch(string(text), -1)
		if len(found) < least {
			t.Errorf("%s names only %d tests", page, len(found))
		}
		for _, m := range found {
			missing[m[1]] = append(missing[m[1]], page)
		}
	}
	// Each row of the threat model is shown by something.
	text, err := os.ReadFile(filepath.Join(root, "docs/security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rows, _ := strings.Cut(string(text), "| who | may |")
	rows, _, _ = strings.Cut(rows, "\n\n")
	for row := range strings.Lines(rows) {
		if strings.Contains(row, "|---|") || strings.Contains(row, "promised") {
			continue
		}
		if !named.MatchString(row) {
			t.Errorf("no test is named in %.80s", row)
		}
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"node_modules", ".git", "bin", "dist"}, d.Name()) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "func "); ok {
				name, _, _ := strings.Cut(rest, "(")
				delete(missing, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, pages := range missing {
		t.Errorf("%q name %s, and there is no such test", pages, name)
	}
}
