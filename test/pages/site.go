package pages

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// tree is the docs site, as docs/site/hugo.toml and its layouts put it together: pages
// are known by their path in it, without .md.
type tree struct {
	root  string
	pages map[string]sitePage
	// sections are the folders that have a page of their own.
	sections map[string]bool
}

// sitePage is a page of the site.
type sitePage struct {
	*document
	// file is its path below the root of the repository.
	file string
}

// The folders of the site's pages, and what of the first is left out.
const docs, introductions = "docs/", "docs/site/content/"

// written is where make pages writes the generated pages. It is not committed.
const written = "docs/site/generated"

// contents is the list of the pages for readers of the repository, and navigation the
// order in which the site has them, of which it is made.
const contents, navigation = "docs/README.md", "docs/site/data/nav.yaml"

var leftOut = []string{contents, "docs/site/", "docs/pictures/", "docs/images/"}

// CheckSite returns a sentence for each thing in the pages below root that the build of
// the docs site (make docs) would refuse.
func CheckSite(root string, generated map[string]string) ([]string, error) {
	t, bad, err := newTree(root, generated)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.pages)) {
		bad = append(bad, t.refused(name)...)
	}
	return bad, nil
}

func newTree(root string, generated map[string]string) (*tree, []string, error) {
	committed, err := documents(root)
	if err != nil {
		return nil, nil, err
	}
	all, err := withGenerated(committed, generated)
	if err != nil {
		return nil, nil, err
	}
	t := &tree{root: root, pages: map[string]sitePage{}, sections: map[string]bool{}}
	var bad []string
	for _, file := range slices.Sorted(maps.Keys(all)) {
		name, isDoc := strings.CutPrefix(file, introductions)
		if !isDoc {
			name, isDoc = strings.CutPrefix(file, docs)
			isDoc = isDoc && !slices.ContainsFunc(leftOut, func(folder string) bool { return strings.HasPrefix(file, folder) })
		}
		if !isDoc {
			continue
		}
		name = strings.TrimSuffix(name, ".md")
		folder, base := path.Split(name)
		first, _, nested := strings.Cut(name, "/")
		switch {
		case base == "index":
			bad = append(bad, file+": a page named index.md takes the folder's other pages off the site")
		case nested:
			t.sections[first] = true
		}
		if base == "_index" {
			t.sections[path.Clean(folder)] = true
		}
		t.pages[name] = sitePage{all[file], file}
	}
	for section := range t.sections {
		if page, there := t.pages[section]; there {
			bad = append(bad, page.file+": a folder has the same address on the site")
		}
	}
	slices.Sort(bad)
	return t, bad, nil
}

// page reports whether the site has a page or section of this name.
func (t *tree) page(name string) bool {
	_, there := t.pages[name]
	return there || t.sections[name]
}

// examples are files, from docs, that committed pages link to in place of the generated
// pages that show them. On the site such a link leads to the page, as
// docs/site/layouts/_markup/render-link.html has it.
var examples = []struct {
	file   *regexp.Regexp
	folder string
}{
	{regexp.MustCompile(`^\.\./examples/kinds/(.+)\.yaml$`), "spec/kinds/"},
	{regexp.MustCompile(`^\.\./examples/terraform/(.+)\.tf$`), "terraform/resources/"},
}

// shortcode is what Hugo reads as a call, in code too.
var shortcode = regexp.MustCompile(`\{\{[<%]`)

// header is the beginning of a page that Hugo reads as its properties.
var header = regexp.MustCompile(`^\s*(---|\+\+\+|\{)`)

// refused returns what the build does not take of a page.
func (t *tree) refused(name string) (bad []string) {
	p := t.pages[name]
	say := func(line int, format string, args ...any) {
		bad = append(bad, fmt.Sprintf("%s:%d: ", p.file, line)+fmt.Sprintf(format, args...))
	}
	for _, line := range p.html {
		say(line, "the site leaves HTML out")
	}
	for _, at := range shortcode.FindAllIndex(p.text, -1) {
		say(1+strings.Count(string(p.text[:at[0]]), "\n"), "the site takes %s for a call", p.text[at[0]:at[1]])
	}
	if why := properties(string(p.text), path.Base(name) == "_index"); why != "" {
		say(1, "%s", why)
	}
	for _, l := range p.links {
		if strings.HasPrefix(l.to, "https://") || strings.HasPrefix(l.to, "http://") || strings.HasPrefix(l.to, "mailto:") || strings.HasPrefix(l.to, "#") {
			continue
		}
		file, _, _ := strings.Cut(l.to, "#")
		to := path.Join(path.Dir(name), file)
		page, isPage := strings.CutSuffix(to, ".md")
		for _, e := range examples {
			if match := e.file.FindStringSubmatch(to); match != nil {
				page, isPage = e.folder+match[1], true
			}
		}
		if isPage && !strings.HasPrefix(page, "..") && !t.page(page) {
			say(l.line, "the site has no page %s", page+".md")
		}
	}
	for _, i := range p.images {
		to := path.Join(path.Dir(name), i.to)
		_, err := os.Stat(filepath.Join(t.root, docs, to))
		if err != nil || !strings.HasPrefix(to, "pictures/") && !strings.HasPrefix(to, "images/") {
			say(i.line, "the site has no picture %s", to)
		}
	}
	return bad
}

// properties says what is wrong with the head of a page: introductions have one with a
// title, other pages have none.
func properties(page string, introduction bool) string {
	if !introduction {
		if header.MatchString(page) {
			return "the site takes the first line for properties of the page"
		}
		return ""
	}
	rest, begins := strings.CutPrefix(page, "---\n")
	head, _, ends := strings.Cut(rest, "\n---\n")
	var properties struct{ Title string }
	if err := yaml.Unmarshal([]byte(head), &properties); !begins || !ends || err != nil || properties.Title == "" {
		return "an introduction begins with its title between two lines of ---"
	}
	return ""
}

// CheckNavigation returns a sentence for each page that docs/site/data/nav.yaml does not
// name, itself or by its folder, and for each name there that is no page.
func CheckNavigation(root string, generated map[string]string) ([]string, error) {
	t, _, err := newTree(root, generated)
	if err != nil {
		return nil, err
	}
	parts, err := readNavigation(root)
	if err != nil {
		return nil, err
	}
	var bad []string
	named := map[string]bool{}
	for _, part := range parts {
		for _, name := range part.Pages {
			named[name] = true
			if !t.page(name) {
				bad = append(bad, navigation+": there is no page "+name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.pages)) {
		if path.Base(name) != "_index" && !named[name] && !named[t.section(name)] {
			bad = append(bad, navigation+" does not name "+name)
		}
	}
	return bad, nil
}

// part is a heading of the navigation with its pages.
type part struct {
	Title, About string
	Pages        []string
}

func readNavigation(root string) (parts []part, err error) {
	text, err := os.ReadFile(filepath.Join(root, navigation))
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(text, &parts); err != nil {
		return nil, fmt.Errorf("%s: %w", navigation, err)
	}
	return parts, nil
}

// heading is the first heading of a page.
var heading = regexp.MustCompile(`(?m)^# (.+)$`)

// Contents returns docs/README.md: the pages of the navigation with their titles. A
// section without a page of its own in docs is a link to its folder.
func Contents(root string) (string, error) {
	t, _, err := newTree(root, nil)
	if err != nil {
		return "", err
	}
	parts, err := readNavigation(root)
	if err != nil {
		return "", err
	}
	out := "# Documentation\n\nThe pages of this folder, as the hub serves them under `/docs`. [README.md](../README.md) has the first steps.\n\n" +
		"The reference of kinds, API calls, Terraform resources and commands is made of the code and is only on the site: a hub serves it, and\n" +
		"`make pages` writes it into `docs/site/generated`. `axle explain KIND`, the `--help` of each command and [examples](../examples/README.md) have the same.\n"
	for _, p := range parts {
		out += "\n## " + p.Title + "\n\n" + p.About + "\n\n"
		for _, name := range p.Pages {
			page, to := t.pages[name], name+".md"
			for _, index := range []string{name + "/README", name + "/_index"} {
				if found, there := t.pages[index]; there {
					page, to = found, strings.TrimPrefix(found.file, docs)
				}
			}
			title := name
			if page.document != nil {
				if match := heading.FindSubmatch(page.text); match != nil {
					title = string(match[1])
				}
			}
			out += "- [" + title + "](" + to + ")\n"
		}
	}
	return out, nil
}

// section is the folder to which a page belongs on the site.
func (t *tree) section(name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if t.sections[dir] {
			return dir
		}
	}
	return ""
}
