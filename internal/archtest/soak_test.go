package archtest_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	soakLine = regexp.MustCompile(`(?m)^tests \S+ .*?-run=([^' ]+)'? \./(\S+)$`)
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// Each name in test/soak.sh selects a test, and each test that is soak's alone is selected: one
// that never ran would be found by nobody.
func TestSoakRunsWhatItNames(t *testing.T) {
	script, err := os.ReadFile("../../test/soak.sh")
	if err != nil {
		t.Fatal(err)
	}
	selected := map[string][]*regexp.Regexp{}
	for _, m := range soakLine.FindAllStringSubmatch(string(script), -1) {
		for part := range strings.SplitSeq(m[1], "|") {
			name, _, _ := strings.Cut(part, "/")
			selected[m[2]] = append(selected[m[2]], regexp.MustCompile(name))
		}
	}
	if len(selected) < 10 {
		t.Fatalf("%d packages in test/soak.sh", len(selected))
	}
	tests := map[string][]string{}
	err = filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "bin") {
				err = fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		folder, _ := filepath.Rel("../..", path.Dir(file))
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			tests[folder] = append(tests[folder], m[1])
			runs := func(one *regexp.Regexp) bool { return one.MatchString(m[1]) }
			if m[1] != "TestMain" && strings.HasPrefix(string(text), "//go:build soak\n") && !slices.ContainsFunc(selected[folder], runs) {
				t.Errorf("%s: %s is soak's alone, and no line of test/soak.sh runs it", file, m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, all := range selected {
		for _, one := range all {
			if !slices.ContainsFunc(tests[folder], one.MatchString) {
				t.Errorf("test/soak.sh: %s selects no test of %s", one, folder)
			}
		}
	}
}
