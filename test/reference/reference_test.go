package reference

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func made(t *testing.T) map[string]string {
	t.Helper()
	pages, err := Pages(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// Every part is there, and every page has a title and a text.
func TestEveryPageHasAText(t *testing.T) {
	least := map[string]int{"spec/kinds/": 40, "api/": 25, "terraform/": 25, "commands/": 150, "spec/writes.md": 1, "spec/exceptions.md": 1}
	for name, page := range made(t) {
		for part := range least {
			if strings.HasPrefix(name, part) {
				least[part]--
			}
		}
		_, text, _ := strings.Cut(page, "\n\n")
		if !strings.HasPrefix(page, "#") || strings.TrimSpace(text) == "" {
			t.Errorf("%s has no title or no text: %.80q", name, page)
		}
	}
	for part, missing := range least {
		if missing > 0 {
			t.Errorf("%d pages of %s are missing", missing, part)
		}
	}
}

// The pages are made of the tree: nothing of the machine or of who makes them is in them.
func TestPagesHoldNothingOfTheirMaker(t *testing.T) {
	before := made(t)
	const secret = "a-name-or-token-of-the-maker"
	home := filepath.Join(t.TempDir(), secret)
	for _, variable := range []string{
		"HOME", "USER", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "HOSTNAME", "KUBECONFIG", "AXLE_CONFIG", "AXLE_CONTEXT", "AXLE_HUB_URL", "AXLE_TOKEN", "AXLE_TOKEN_FILE", "AXLE_CA_FILE",
	} {
		t.Setenv(variable, home)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range made(t) {
		if page != before[name] {
			t.Errorf("%s depends on the environment", name)
		}
		for _, what := range []string{secret, checkout, host} {
			if len(what) > 6 && strings.Contains(page, what) {
				t.Errorf("%s holds %q", name, what)
			}
		}
	}
}

// Every attribute that a configuration of the provider or of a resource sets has a text.
func TestEveryAttributeHasAText(t *testing.T) {
	rows := 0
	for name, page := range made(t) {
		if !strings.HasPrefix(name, "terraform/resources/") && name != "terraform/provider.md" {
			continue
		}
		_, page, _ = strings.Cut(page, "| attribute |")
		for line := range strings.Lines(page) {
			cells := strings.Split(strings.TrimSpace(line), " | ")
			if strings.HasPrefix(line, "| `") && !strings.Contains(line, " | read-only |") {
				rows++
				if len(cells) < 4 || strings.Trim(cells[3], "| ") == "" {
					t.Errorf("%s: no text in %q", name, line)
				}
			}
		}
	}
	if rows < 200 {
		t.Errorf("only %d attributes", rows)
	}
}

// docsWith returns a folder of docs with one page.
func docsWith(t *testing.T, name, text string) string {
	t.Helper()
	docs := t.TempDir()
	path := filepath.Join(docs, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return docs
}

func TestHeadsAreWrittenByHand(t *testing.T) {
	for name, c := range map[string]struct{ page, text, want, err string }{
		"none":              {"other.md", "# Other\n", "# Made\n\nrows\n", ""},
		"a head":            {"made.md", "# By hand\n\nA text.\n\n" + Mark + "\nFor readers of Git.\n", "# By hand\n\nA text.\n\nrows\n", ""},
		"a whole page":      {"made.md", "# By hand\n\nA text.\n", "", "docs/made.md is generated"},
		"a head of nothing": {"gone.md", "# By hand\n\n" + Mark, "", "docs/gone.md is the head of a page that nothing generates"},
	} {
		t.Run(name, func(t *testing.T) {
			pages := map[string]string{"made.md": "# Made\n\nrows\n"}
			err := addHeads(docsWith(t, c.page, c.text), pages)
			if c.err == "" && (err != nil || pages["made.md"] != c.want) || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) {
				t.Errorf("%q, %v; want %q, %q", pages["made.md"], err, c.want, c.err)
			}
		})
	}
}

// What was written before and is no page any more goes.
func TestWrittenPagesAreThoseOfNow(t *testing.T) {
	tree := t.TempDir()
	for _, part := range []string{"docs", "examples", "hub", "test"} {
		where, err := filepath.Abs(filepath.Join(root, part))
		if err != nil {
			t.Fatal(err)
		}
		if part == "docs" {
			where = docsWith(t, "site/generated/spec/kinds/gone.md", "# Gone\n")
		}
		if err := os.Symlink(where, filepath.Join(tree, part)); err != nil {
			t.Fatal(err)
		}
	}
	n, err := Write(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pattern := range []string{"*/*.md", "*/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(tree, Folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	if gone := filepath.Join(tree, Folder, "spec/kinds/gone.md"); len(names) != n || slices.Contains(names, gone) {
		t.Errorf("%d files of %d pages, and %s among them: %v", len(names), n, gone, slices.Contains(names, gone))
	}
}
