package pages_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/axle-cd/axle/test/pages"
)

const root = "../.."

// A block that is marked as sh is one that a shell reads.
func TestShellBlocksAreShell(t *testing.T) {
	all, err := pages.All(root)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, page := range all {
		blocks, err := pages.Script(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			n++
			shell := exec.CommandContext(t.Context(), "bash", "-n")
			shell.Stdin = strings.NewReader(b.Text)
			if said, err := shell.CombinedOutput(); err != nil {
				t.Errorf("%s:%d is no shell: %v\n%s", page, b.Line, err, said)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d blocks were found", n)
	}
}

const page = "A page. `axle services pause` and `axle services pause --wrong` are named; `axle <noun>` is not.\n" +
	"| a table | `axle repos add NAME --type git\\|oci` |\n\n" +
	"```sh\n$ axle login \\\n  URL >log 2>&1 &\nuntil axle whoami | grep 'a b'; do sleep 1; done # axle no\n```\n\n" +
	"```yaml\naxle no\n```\n\n    bin/axle version\naxle no\n"

func TestCommandsOfAPage(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md"} {
		write(name, "")
	}
	write("docs/a/page.md", page)
	write("docs/flows/page.md", page)
	found, err := pages.Commands(dir, "axle")
	if err != nil {
		t.Fatal(err)
	}
	named := func(page string) []pages.Command {
		return []pages.Command{
			{Page: page, Line: 1, Words: []string{"services", "pause"}, Named: true},
			{Page: page, Line: 1, Words: []string{"services", "pause", "--wrong"}, Named: true},
			{Page: page, Line: 2, Words: []string{"repos", "add", "NAME", "--type", "git"}, Named: true},
		}
	}
	want := append(append(named("docs/a/page.md"),
		pages.Command{Page: "docs/a/page.md", Line: 5, Words: []string{"login", "URL"}},
		pages.Command{Page: "docs/a/page.md", Line: 7, Words: []string{"whoami"}},
		pages.Command{Page: "docs/a/page.md", Line: 14, Words: []string{"version"}}),
		named("docs/flows/page.md")...)
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

// What does not exist is found: a test of pages that cannot fail proves nothing.
func TestCheckFindsWhatDoesNotExist(t *testing.T) {
	program := func() *cobra.Command {
		all := &cobra.Command{Use: "axle"}
		services := &cobra.Command{Use: "services", Args: cobra.NoArgs, Run: func(*cobra.Command, []string) {}}
		pause := &cobra.Command{Use: "pause NAME", Args: cobra.ExactArgs(1), Run: func(*cobra.Command, []string) {}}
		pause.Flags().StringP("file", "f", "", "")
		services.AddCommand(pause)
		all.AddCommand(services)
		return all
	}
	tests := map[string]struct {
		words string
		named bool
		good  bool
	}{
		"whole":                  {"services pause web -f a", false, true},
		"no argument":            {"services pause", false, false},
		"no such flag":           {"services pause web --wrong", false, false},
		"named":                  {"services pause", true, true},
		"named with a flag":      {"services pause --file", true, true},
		"named, short":           {"services pause -f", true, true},
		"named, no such flag":    {"services pause --wrong", true, false},
		"named, no such short":   {"services pause -x", true, false},
		"named, no such command": {"services stop", true, false},
		"named, the group alone": {"services …", true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := pages.Check(program(), pages.Command{Words: pages.Words(test.words), Named: test.named})
			if (err == nil) != test.good {
				t.Errorf("%q: %v", test.words, err)
			}
		})
	}
}

var (
	namedTest   = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`")
	definedTest = regexp.MustCompile(`(?m)^func (Test[A-Z][A-Za-z0-9]*)\(`)
)

// What the threat model says is shown by a test, which exists.
func TestTestsThatPagesNameExist(t *testing.T) {
	exist := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := filepath.Base(path); {
		case err != nil:
			return err
		case d.IsDir() && (name == "node_modules" || name == ".git" || name == "bin" || name == "dist"):
			return filepath.SkipDir
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range definedTest.FindAllSubmatch(text, -1) {
			exist[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := pages.All(root)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, page := range all {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namedTest.FindAllSubmatch(text, -1) {
			if n++; !exist[string(m[1])] {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d tests are named", n)
	}
}
