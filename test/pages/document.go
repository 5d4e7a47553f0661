package pages

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// document is a page as the docs site's parser reads it.
type document struct {
	text    []byte
	anchors anchors
	links   []reference
	images  []reference
	// spans are the words of code within sentences.
	spans []reference
	// fences are the blocks of code between fences.
	fences []fenced
	// html are the lines with HTML other than comments.
	html []int
}

// reference is where a link or a picture leads.
type reference struct {
	line int
	to   string
}

// fenced is a block of code.
type fenced struct {
	line     int
	language string
	closed   bool
}

// anchors gives the headings of a page their ids, as the site and Git hosts do: lower
// case, without punctuation, a hyphen for each space, a number for each repetition.
type anchors map[string]bool

// Generate implements parser.IDs.
func (a anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.TrimSpace(string(heading)) {
		switch {
		case r == ' ' || r == '-':
			b.WriteByte('-')
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(unicode.ToLower(r))
		}
	}
	id := b.String()
	if id == "" {
		id = "heading"
	}
	for i := 1; a[id]; i++ {
		id = b.String() + "-" + strconv.Itoa(i)
	}
	a[id] = true
	return []byte(id)
}

// Put implements parser.IDs.
func (a anchors) Put(id []byte) { a[string(id)] = true }

// site is the parser with what docs/site/hugo.toml leaves on.
var site = goldmark.New(
	goldmark.WithExtensions(extension.GFM, extension.DefinitionList, extension.Footnote),
	goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithAttribute()),
).Parser()

// parse reads a page.
func parse(page []byte) (*document, error) {
	d := &document{text: page, anchors: anchors{}}
	tree := site.Parse(text.NewReader(page), parser.WithContext(parser.NewContext(parser.WithIDs(d.anchors))))
	return d, ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			d.add(n)
		}
		return ast.WalkContinue, nil
	})
}

// add notes what a node of the page is.
func (d *document) add(n ast.Node) {
	switch n := n.(type) {
	case *ast.Link:
		d.links = append(d.links, reference{d.line(n), string(n.Destination)})
	case *ast.Image:
		d.images = append(d.images, reference{d.line(n), string(n.Destination)})
	case *ast.CodeSpan:
		var code []byte
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, is := c.(*ast.Text); is {
				code = append(append(code, t.Segment.Value(d.text)...), ' ')
			}
		}
		for word := range strings.FieldsSeq(string(code)) {
			d.spans = append(d.spans, reference{d.line(n), word})
		}
	case *ast.FencedCodeBlock:
		d.fences = append(d.fences, fenced{d.line(n), string(n.Language(d.text)), d.closed(n)})
	case *ast.HTMLBlock:
		if n.HTMLBlockType != ast.HTMLBlockType2 {
			d.html = append(d.html, d.line(n))
		}
	case *ast.RawHTML:
		if first := n.Segments.At(0); !bytes.HasPrefix(first.Value(d.text), []byte("<!--")) {
			d.html = append(d.html, d.line(n))
		}
	}
}

// line is where a node begins, from 1.
func (d *document) line(n ast.Node) int {
	for ; n != nil; n = n.Parent() {
		if at := n.Pos(); at >= 0 {
			return 1 + bytes.Count(d.text[:at], []byte("\n"))
		}
	}
	return 1
}

// closed reports whether a fence follows the code: without one, the rest of the page is
// code.
func (d *document) closed(n *ast.FencedCodeBlock) bool {
	if n.Lines().Len() == 0 {
		return true
	}
	after := d.text[n.Lines().At(n.Lines().Len()-1).Stop:]
	line, _, _ := bytes.Cut(after, []byte("\n"))
	return bytes.HasPrefix(bytes.TrimLeft(line, " >"), []byte("```"))
}

// elsewhere are folders whose Markdown is not ours, or is made of ours.
var elsewhere = map[string]bool{".git": true, "node_modules": true, "testdata": true, "bin": true, "dist": true, "public": true, "generated": true}

// documents reads every Markdown file below root, by its path there.
func documents(root string) (map[string]*document, error) {
	all := map[string]*document{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && elsewhere[d.Name()]:
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".md"):
			return nil
		}
		page, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		all[filepath.ToSlash(rel)], err = parse(page)
		return err
	})
	return all, err
}

// withGenerated returns the documents of a tree and, beside them, the pages that are made
// of it, by their path in docs. One of these replaces the handwritten head of its name.
func withGenerated(committed map[string]*document, generated map[string]string) (map[string]*document, error) {
	all := maps.Clone(committed)
	for name, page := range generated {
		d, err := parse([]byte(page))
		if err != nil {
			return nil, err
		}
		all[docs+name] = d
	}
	return all, nil
}
