package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shipped are the folders of what ships.
var shipped = regexp.MustCompile(`^(hub|agent|operator|render|internal|sdk|cli|terraform|api)(/|$)`)

// calls are the files of what ships that have a call which a test looks for, by their path.
func calls(t *testing.T, wanted func(of, name string, c *ast.CallExpr) bool) map[string]bool {
	t.Helper()
	root, _, _, packages := load(t)
	found := map[string]bool{}
	for folder := range packages {
		if !shipped.MatchString(folder) || strings.HasSuffix(folder, "test") || folder == "internal/archtest" {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok {
					if s, ok := c.Fun.(*ast.SelectorExpr); ok {
						of := ""
						if id, ok := s.X.(*ast.Ident); ok {
							of = id.Name
						}
						if wanted(of, s.Sel.Name, c) {
							found[folder+"/"+filepath.Base(name)] = true
						}
					}
				}
				return true
			})
		}
	}
	return found
}

// holds compares a table of test/field with the files that were found: each has one line of
// so many cells, whose last one names tests that exist.
func holds(t *testing.T, table string, cells int, found map[string]bool) {
	t.Helper()
	text, err := os.ReadFile("../../test/field/" + table)
	if err != nil {
		t.Fatal(err)
	}
	known := declaredTests(t)
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "|")
		file := strings.TrimSpace(parts[0])
		if len(parts) != cells || listed[file] {
			t.Errorf("%s: %q has no %d cells, or its file a line already", table, line, cells)
		}
		listed[file] = true
		if !found[file] {
			t.Errorf("%s: %s does no such thing; take its line out", table, file)
		}
		for name := range strings.FieldsSeq(parts[len(parts)-1]) {
			if name != "-" && !known[name] {
				t.Errorf("%s: there is no test %s", table, name)
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(found)) {
		if !listed[file] {
			t.Errorf("test/field/%s has no line for %s", table, file)
		}
	}
}

// declaredTests are the names of all tests and fuzz targets.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	root, _, _, packages := load(t)
	declared, names := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`), map[string]bool{}
	for folder := range packages {
		files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range declared.FindAllSubmatch(text, -1) {
				names[string(m[1])] = true
			}
		}
	}
	return names
}

// TestListsAreListed: a list that is cut at its commas loses values that have one.
func TestListsAreListed(t *testing.T) {
	holds(t, "lists.txt", 4, calls(t, func(of, name string, c *ast.CallExpr) bool {
		if strings.HasPrefix(name, "StringArrayVar") {
			return true
		}
		if of != "strings" || !strings.HasPrefix(name, "Split") && name != "Cut" || len(c.Args) < 2 {
			return false
		}
		l, ok := c.Args[1].(*ast.BasicLit)
		return ok && strings.Trim(strings.Trim(l.Value, `"`), " ") == ","
	}))
}

// TestWritersAreListed: what two programs write at once is one's, or half of each.
func TestWritersAreListed(t *testing.T) {
	writes := regexp.MustCompile(`^(os (WriteFile|Create|OpenFile|Rename|Link)|atomicfile (Write\w*|Create))$`)
	holds(t, "written.txt", 5, calls(t, func(of, name string, _ *ast.CallExpr) bool { return writes.MatchString(of + " " + name) }))
	text, err := os.ReadFile("../../test/field/written.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.Split(strings.TrimSpace(line), " | ")
		if len(parts) != 5 || strings.HasPrefix(line, "#") {
			continue
		}
		alone := parts[2] == "nobody" && !strings.Contains(parts[3], "one process") && !strings.Contains(parts[3], "as above")
		if parts[4] == "-" && !alone {
			t.Errorf("written.txt: %s needs a test of two writers, or the one that refuses the second: %s", parts[0], strings.TrimSpace(line))
		}
	}
}
