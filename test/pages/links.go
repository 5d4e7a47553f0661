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
)

// languages are those that a fenced block may be in. A block in sh is read as commands,
// one in another language is not: a word that is none of them hides commands.
var languages = []string{"", "go", "hcl", "ini", "json", "liquid", "sh", "terraform", "text", "yaml"}

// CheckDocuments returns a sentence for each relative link and picture of a Markdown file
// below root whose file or heading does not exist, for each path in backticks that is not there, and
// for each fenced block that is not
// closed, whose language is unknown, or that Commands and Blocks take for something else
// than readers of the page see.
//
// generated are the pages that are made of this tree, by their path in docs. They may link to
// all pages; a committed file may not link to them, because readers of the repository do not
// have them.
func CheckDocuments(root string, generated map[string]string) ([]string, error) {
	committed, err := documents(root)
	if err != nil {
		return nil, err
	}
	all, err := withGenerated(committed, generated)
	if err != nil {
		return nil, err
	}
	var bad []string
	for _, page := range slices.Sorted(maps.Keys(committed)) {
		bad = append(bad, committed[page].unsound(root, committed, page)...)
	}
	for _, name := range slices.Sorted(maps.Keys(generated)) {
		bad = append(bad, all[docs+name].unsound(root, all, docs+name)...)
	}
	return bad, nil
}

// unsound returns a sentence for each defect of a page that stands beside others.
func (d *document) unsound(root string, all map[string]*document, page string) (bad []string) {
	for _, l := range slices.Concat(d.links, d.images) {
		if why := dead(root, all, page, l.to); why != "" {
			bad = append(bad, fmt.Sprintf("%s:%d: the link to %s %s", page, l.line, l.to, why))
		}
	}
	for _, word := range d.spans {
		if !strings.HasPrefix(page, "docs/adr/") && gone(root, word.to) {
			bad = append(bad, fmt.Sprintf("%s:%d: `%s` is no file or folder", page, word.line, word.to))
		}
	}
	return append(bad, d.misread(page)...)
}

// inTree is a word that may be a path below the root: it begins with one of its folders.
// A symbol after a package, a line or a function after a file are not part of it.
var inTree = regexp.MustCompile(`^(?:\./)?([a-z]+)/([a-z0-9_.\-/]*)(?:\.[A-Z]\w*(?:\.\w+)*|:.*)?[.,;]?$`)

// named are no paths, although they begin as if they were, or are made by a run.
var named = []string{
	"agent/v1", "hub/v1", "render/v1", // protocols
	"deploy/axle-agent",                            // a Deployment, for kubectl
	"terraform/default",                            // a manager
	"test/race-passed.txt", "test/soak-record.txt", // made by runs
	"bin/", "dist/", "web/dist", "web/node_modules", "docs/site/public", written, // made by make
}

// gone reports whether a word of code names a file or folder of this tree that is not
// there. Decision records are of their time: theirs are not looked at.
func gone(root, word string) bool {
	match := inTree.FindStringSubmatch(word)
	if match == nil || slices.ContainsFunc(named, func(n string) bool { return strings.HasPrefix(word, n) }) {
		return false
	}
	if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
		return false
	}
	_, err := os.Stat(filepath.Join(root, match[1], strings.TrimSuffix(match[2], "...")))
	return err != nil
}

// dead says why a link leads nowhere.
func dead(root string, all map[string]*document, from, to string) string {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(to, "#")
	target := from
	if file != "" {
		target = path.Join(path.Dir(from), file)
	}
	d := all[target]
	if _, err := os.Stat(filepath.Join(root, target)); d == nil && err != nil || strings.HasPrefix(target, written) {
		return "leads to no file"
	}
	if anchor != "" && (d == nil || !d.anchors[anchor]) {
		return "leads to no heading"
	}
	return ""
}

// misread returns a sentence for each fenced block that is not what it seems.
func (d *document) misread(page string) (bad []string) {
	read := map[int]string{}
	open := false
	for _, l := range linesOf(string(d.text)) {
		if l.fence {
			if open = !open; open {
				read[l.number] = l.language
			}
		}
	}
	for _, f := range d.fences {
		language, found := read[f.line]
		delete(read, f.line)
		switch {
		case !f.closed:
			bad = append(bad, fmt.Sprintf("%s:%d: the block has no end", page, f.line))
		case !slices.Contains(languages, f.language):
			bad = append(bad, fmt.Sprintf("%s:%d: no page has blocks in %s", page, f.line, f.language))
		case !found || language != f.language:
			bad = append(bad, fmt.Sprintf("%s:%d: the tests do not read this block as one in %q", page, f.line, f.language))
		}
	}
	for _, line := range slices.Sorted(maps.Keys(read)) {
		bad = append(bad, fmt.Sprintf("%s:%d: the tests read a block here that readers do not see", page, line))
	}
	return bad
}
