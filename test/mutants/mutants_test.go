package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func rows(t *testing.T) []mutant {
	t.Helper()
	table, err := os.ReadFile("packages.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, err := read(string(table))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Each package has a row that is one of its code of today. Soak plays them.
func TestEveryPackageHasAMutant(t *testing.T) {
	bad, err := check(root, rows(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bad {
		t.Error(b)
	}
}

// A row that is not one of the code is found, and so is a package without one.
func TestRowsThatProveNothingAreFound(t *testing.T) {
	tree := t.TempDir()
	for file, text := range map[string]string{
		"sdk/a.go": "package sdk\n\nvar one, two = 1, 1\n", "sdk/a_test.go": "package sdk\n\nfunc TestOne(t *testing.T) {}\n", "cli/b/b.go": "package b\n", "operator/testdata/c.go": "package c\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(tree, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const good = "sdk a.go TestOne\n- one, two\n+ two, one\n\n"
	for name, c := range map[string]struct{ table, want string }{
		"no row":             {good, "cli/b has 0 rows"},
		"two rows":           {good + good, "sdk has 2 rows"},
		"no package":         {good + "sdk/gone a.go TestOne\n- x\n+ y\n", "sdk/gone is no package"},
		"a text that is not": {"sdk a.go TestOne\n- three\n+ four\n", `"three" stands 0 times in a.go`},
		"a text twice":       {"sdk a.go TestOne\n- 1\n+ 2\n", `"1" stands 2 times in a.go`},
		"no change":          {"sdk a.go TestOne\n- one\n+ one\n", "another text in its place"},
		"no test":            {"sdk a.go TestTwo\n- one\n+ three\n", "sdk has no test TestTwo beside it"},
	} {
		all, err := read(c.table)
		if err != nil {
			t.Fatal(err)
		}
		bad, err := check(tree, all)
		if err != nil || !strings.Contains(strings.Join(bad, "\n"), c.want) {
			t.Errorf("%s: %q, %v; want %q", name, bad, err, c.want)
		}
	}
	for _, table := range []string{"sdk a.go\n- a\n+ b\n", "sdk a.go TestOne\n- a\n+ b\n+ c\n"} {
		if all, err := read(table); err == nil {
			t.Errorf("%q is read as %v", table, all)
		}
	}
}
