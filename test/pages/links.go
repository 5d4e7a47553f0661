package pages

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// languages are those that a fenced block may be in. A block in sh is read as commands,
// one in another language is not: a word that is none of them hides commands.
var languages = []string{"", "go", "hcl", "ini", "json", "liquid", "sh", "terraform", "text", "yaml"}

// CheckDocuments returns a sentence for each relative link and picture of a Markdown file
// below root whose file or heading does not exist, and for each fenced block that is not
// closed, whose language is unknown, or that Commands and Blocks take for something else
// than readers of the page see.
func CheckDocuments(root string) ([]string, error) {
	all, err := documents(root)
	if err != nil {
		return nil, err
	}
	var bad []string
	for _, page := range slices.Sorted(maps.Keys(all)) {
		d := all[page]
		for _, l := range slices.Concat(d.links, d.images) {
			if why := dead(root, all, page, l.to); why != "" {
				bad = append(bad, fmt.Sprintf("%s:%d: the link to %s %s", page, l.line, l.to, why))
			}
		}
		bad = append(bad, d.misread(page)...)
	}
	return bad, nil
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
	if _, err := os.Stat(filepath.Join(root, target)); err != nil {
		return "leads to no file"
	}
	if d := all[target]; anchor != "" && (d == nil || !d.anchors[anchor]) {
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
