// Package mutants breaks the product on purpose, one behaviour at a time, and expects
// that the tests notice. packages.txt has one mutation of each package of operator, sdk and
// cli, whose test stands beside it: a test that passes with it tests nothing, and a package
// without one is a row that is missing. The patches are for test/mutants.sh.
//
// A mutation is compiled by an overlay: no file of the checkout changes.
package mutants

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// trees are the folders whose packages have a row.
var trees = []string{"operator", "sdk", "cli"}

// mutant is a row of packages.txt.
type mutant struct {
	folder, file, test string
	// from stands once in the file; to is in its place.
	from, to string
}

// read returns the rows of a table.
func read(table string) (all []mutant, err error) {
	for block := range strings.SplitSeq(strings.TrimSpace(table), "\n\n") {
		var m mutant
		for line := range strings.SplitSeq(block, "\n") {
			switch mark, text, _ := strings.Cut(line, " "); {
			case strings.HasPrefix(line, "#"):
			case mark == "-" && m.from == "":
				m.from = text
			case mark == "+" && m.to == "":
				m.to = text
			case m.folder == "":
				words := strings.Fields(line)
				if len(words) != 3 {
					return nil, fmt.Errorf("%q is not the package, a file and a test", line)
				}
				m.folder, m.file, m.test = words[0], words[1], words[2]
			default:
				return nil, fmt.Errorf("%s has a line too much: %q", m.folder, line)
			}
		}
		if m != (mutant{}) {
			all = append(all, m)
		}
	}
	return all, nil
}

// mutated returns the file with the mutation.
func (m mutant) mutated(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, m.folder, m.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.from); m.from == "" || m.from == m.to || n != 1 {
		return "", fmt.Errorf("%s: %q stands %d times in %s, want once, and another text in its place", m.folder, m.from, n, m.file)
	}
	return strings.Replace(string(text), m.from, m.to, 1), nil
}

// check returns a sentence for each package without a row, and for each row that is not
// one of the code of today.
func check(root string, all []mutant) (bad []string, err error) {
	folders, err := packages(root)
	if err != nil {
		return nil, err
	}
	rows := map[string]int{}
	for _, m := range all {
		if rows[m.folder]++; !slices.Contains(folders, m.folder) {
			bad = append(bad, m.folder+" is no package of "+strings.Join(trees, ", "))
			continue
		}
		if _, err := m.mutated(root); err != nil {
			bad = append(bad, err.Error())
		}
		beside, err := tests(filepath.Join(root, m.folder))
		if err != nil {
			return nil, err
		}
		if !beside[m.test] {
			bad = append(bad, fmt.Sprintf("%s has no test %s beside it", m.folder, m.test))
		}
	}
	for _, folder := range folders {
		if rows[folder] != 1 {
			bad = append(bad, fmt.Sprintf("%s has %d rows in packages.txt, want 1", folder, rows[folder]))
		}
	}
	return bad, nil
}

// packages returns the folders of the trees that have code.
func packages(root string) ([]string, error) {
	found := map[string]bool{}
	for _, tree := range trees {
		err := fs.WalkDir(os.DirFS(root), tree, func(file string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && entry.Name() == "testdata" {
				return fs.SkipDir
			}
			if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
				found[path.Dir(file)] = true
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// tests returns the names of the tests of a folder.
func tests(folder string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, match := range testFunction.FindAllStringSubmatch(string(text), -1) {
			names[match[1]] = true
		}
	}
	return names, nil
}
