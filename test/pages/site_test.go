package pages_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/pages"
	"github.com/axle-cd/axle/test/reference"
)

// check is one of what the documents are checked for.
type check = func(root string, generated map[string]string) ([]string, error)

// The documents of this tree, with the pages that are made of it, are sound, and the docs site can be built of them.
func TestDocumentsAreSound(t *testing.T) {
	generated, err := reference.Pages(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for name, check := range map[string]check{
		"links and blocks": pages.CheckDocuments, "site": pages.CheckSite, "navigation": pages.CheckNavigation,
		"words": func(root string, _ map[string]string) ([]string, error) { return pages.CheckWords(root) },
	} {
		t.Run(name, func(t *testing.T) {
			bad, err := check(root, generated)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range bad {
				t.Error(b)
			}
		})
	}
}

var update = flag.Bool("update", false, "write docs/README.md")

// docs/README.md lists the pages in the order of the site. make generate writes it.
func TestPagesAreListed(t *testing.T) {
	want, err := pages.Contents(root)
	if err != nil {
		t.Fatal(err)
	}
	const file = root + "/docs/README.md"
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Error("docs/README.md does not list the pages of docs/site/data/nav.yaml: run make generate")
	}
}

// sound is a small tree in which nothing is wrong.
var sound = map[string]string{
	"README.md":                           "# Read\n[docs](docs/a.md) <img src=\"x\">\n",
	"docs/a.md":                           "# A\n[self](#a) [b](part/b.md#second-part) [twice](part/b.md#second-part-1) [up](../README.md) [part](part/) [web](https://example.com/x) `[code](gone.md)` <!-- a comment -->\n\n![p](pictures/p.png)\n\n```sh\n[no link](gone.md) <b>\n```\n\n<!-- a comment -->\n",
	"examples/kinds/k.yaml":               "",
	"docs/site/generated/made/m.md":       "as it was written before: [gone](gone.md)\n",
	"docs/part/b.md":                      "# B\n## Second: part\n## Second: `part`\n- item\n\n  ```yaml\n  a: 1\n  ```\n",
	"docs/images/r.md":                    "# R\n<b>\n",
	"docs/pictures/p.png":                 "",
	"docs/site/content/_index.md":         "---\ntitle: Home\n---\n# Home\n",
	"docs/site/content/part/_index.md":    "---\ntitle: Part\n---\nSome.\n",
	"docs/site/data/nav.yaml":             "- title: All\n  about: It.\n  pages: [a, part, made, spec]\n",
	"docs/site/content/part/in/_index.md": "---\ntitle: In\n---\nSome.\n",
}

// Each defect is found, and nothing else: a check that finds none proves nothing.
func TestDefectsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		check      check
		want       string
	}{
		"nothing, documents":         {check: pages.CheckDocuments},
		"nothing, site":              {check: pages.CheckSite},
		"nothing, navigation":        {check: pages.CheckNavigation},
		"no file":                    {"README.md", "a\n[x](docs/gone.md)\n", pages.CheckDocuments, "README.md:2: the link to docs/gone.md leads to no file"},
		"no file in a table":         {"docs/a.md", "|a|\n|---|\n|[x](gone.md)|\n", pages.CheckDocuments, "docs/a.md:3: the link to gone.md leads to no file"},
		"by reference":               {"docs/a.md", "[x][r]\n\n[r]: gone.md\n", pages.CheckDocuments, "docs/a.md:1: the link to gone.md leads to no file"},
		"a generated page":           {"docs/a.md", "[x](made/o.md)\n", pages.CheckDocuments, "docs/a.md:1: the link to made/o.md leads to no file"},
		"where it is written":        {"docs/a.md", "[x](site/generated/made/m.md)\n", pages.CheckDocuments, "docs/a.md:1: the link to site/generated/made/m.md leads to no file"},
		"a head of it":               {"docs/made/m.md", "# M\n[x](o.md)\n", pages.CheckDocuments, "docs/made/m.md:2: the link to o.md leads to no file"},
		"the example of a kind":      {"docs/a.md", "[k](../examples/kinds/k.yaml)\n", pages.CheckSite, ""},
		"the example of no kind":     {"docs/a.md", "[k](../examples/kinds/gone.yaml)\n", pages.CheckSite, "docs/a.md:1: the site has no page spec/kinds/gone.md"},
		"no path in code":            {"docs/a.md", "a\n`docs/a.md` and `docs/gone.md:main`\n", pages.CheckDocuments, "docs/a.md:2: `docs/gone.md:main` is no file or folder"},
		"paths in code":              {"docs/a.md", "`docs/part.Name`, `docs/part/b.md:12`, `./docs/...`, `gone/x.md`, `docs/`\n", pages.CheckDocuments, ""},
		"paths of a decision":        {"docs/adr/a.md", "`docs/gone.md`\n", pages.CheckDocuments, ""},
		"no picture":                 {"docs/a.md", "![x](gone.png)\n", pages.CheckDocuments, "docs/a.md:1: the link to gone.png leads to no file"},
		"no heading":                 {"docs/a.md", "[x](part/b.md#third)\n", pages.CheckDocuments, "docs/a.md:1: the link to part/b.md#third leads to no heading"},
		"no own heading":             {"docs/a.md", "# A\n[x](#b)\n", pages.CheckDocuments, "docs/a.md:2: the link to #b leads to no heading"},
		"heading in code":            {"docs/a.md", "[x](#b)\n\n```sh\n# b\n```\n", pages.CheckDocuments, "docs/a.md:1: the link to #b leads to no heading"},
		"a block without end":        {"docs/a.md", "a\n\n```sh\naxle\n", pages.CheckDocuments, "docs/a.md:3: the block has no end"},
		"an unknown language":        {"docs/a.md", "```shh\naxle\n```\n", pages.CheckDocuments, "docs/a.md:1: no page has blocks in shh"},
		"a block of tildes":          {"docs/a.md", "~~~sh\naxle\n~~~\n", pages.CheckDocuments, "docs/a.md:1: the block has no end"},
		"a block in capitals":        {"docs/a.md", "```Sh\naxle\n```\n", pages.CheckDocuments, "docs/a.md:1: no page has blocks in Sh"},
		"a fence in a longer one":    {"docs/a.md", "````text\n```sh\n````\n", pages.CheckDocuments, "docs/a.md:3: the tests read a block here that readers do not see"},
		"a fence in a quotation":     {"docs/a.md", "> ```sh\n> axle\n> ```\n", pages.CheckDocuments, "docs/a.md:1: the tests do not read this block as one in \"sh\""},
		"a link to what is left out": {"docs/a.md", "[x](images/r.md)\n", pages.CheckSite, "docs/a.md:1: the site has no page images/r.md"},
		"a picture from elsewhere":   {"docs/a.md", "![x](part/b.md)\n", pages.CheckSite, "docs/a.md:1: the site has no picture part/b.md"},
		"a picture of the web":       {"docs/a.md", "![x](https://example.com/x.png)\n", pages.CheckSite, "docs/a.md:1: the site has no picture https:/example.com/x.png"},
		"HTML":                       {"docs/part/b.md", "a\n\n<div>\n</div>\n", pages.CheckSite, "docs/part/b.md:3: the site leaves HTML out"},
		"HTML in a line":             {"docs/part/b.md", "a\nb <b>c\n", pages.CheckSite, "docs/part/b.md:2: the site leaves HTML out"},
		"a call":                     {"docs/a.md", "a\n\n```yaml\n{{< x >}}\n```\n", pages.CheckSite, "docs/a.md:4: the site takes {{< for a call"},
		"properties":                 {"docs/a.md", "---\na\n", pages.CheckSite, "docs/a.md:1: the site takes the first line for properties of the page"},
		"no properties":              {"docs/site/content/_index.md", "# Home\n", pages.CheckSite, "docs/site/content/_index.md:1: an introduction begins with its title between two lines of ---"},
		"no title":                   {"docs/site/content/_index.md", "---\ntitel: Home\n---\n", pages.CheckSite, "docs/site/content/_index.md:1: an introduction begins with its title between two lines of ---"},
		"index.md":                   {"docs/part/index.md", "# I\n", pages.CheckSite, "docs/part/index.md: a page named index.md takes the folder's other pages off the site"},
		"two of one address":         {"docs/part.md", "# I\n", pages.CheckSite, "docs/part.md: a folder has the same address on the site"},
		"a page that is not named":   {"docs/c.md", "# C\n", pages.CheckNavigation, "docs/site/data/nav.yaml does not name c"},
		"a page below a section":     {"docs/part/in/c.md", "# C\n", pages.CheckNavigation, "docs/site/data/nav.yaml does not name part/in/c"},
		"a name of no page":          {"docs/site/data/nav.yaml", "- pages: [a, part, gone, made, spec]\n", pages.CheckNavigation, "docs/site/data/nav.yaml: there is no page gone"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tree := maps.Clone(sound)
			if c.file != "" {
				tree[c.file] = c.text
			}
			for file, text := range tree {
				path := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			bad, err := c.check(dir, map[string]string{"made/m.md": "# M\n[a](../a.md) [other](o.md#o)\n", "made/o.md": "# O\n", "spec/kinds/k.md": "# K\n"})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(bad, "\n"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// The documents are parsed as the site's pages are: by the same version of the parser.
func TestParserIsTheSites(t *testing.T) {
	pinned := regexp.MustCompile(`github\.com/yuin/goldmark (v\S+)`)
	var versions [2]string
	for i, file := range []string{"go.mod", "tools/hugo.mod"} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if m := pinned.FindSubmatch(text); m != nil {
			versions[i] = string(m[1])
		}
	}
	if versions[0] == "" || versions[0] != versions[1] {
		t.Errorf("go.mod has goldmark %q and tools/hugo.mod %q: go get github.com/yuin/goldmark@%s", versions[0], versions[1], versions[1])
	}
}
