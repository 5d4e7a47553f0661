package plan

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// markOf is the key of a mark of Flux, Argo CD, Plural or Helm.
var markOf = regexp.MustCompile(`\b(?:[a-z]+\.toolkit\.fluxcd\.io|argocd\.argoproj\.io|deployments?\.plural\.sh|(?:meta\.)?helm\.sh)/[A-Za-z-]+`)

// marksOfNoObject are keys in our code that are no marks for who delivers an object: whose it
// is, and what the fields of Plural's own objects say of themselves.
var marksOfNoObject = strings.Fields(`helm.sh/chart meta.helm.sh/release-name meta.helm.sh/release-namespace
	helm.toolkit.fluxcd.io/namespace deployments.plural.sh/ignore-fields deployments.plural.sh/backfill-fields`)

// TestMarksOfThePagesAreThoseOfTheCode: each mark that a page for those who come from another
// tool calls obeyed or mapped is one that the code of the agent or its child reads, and each that
// the code reads stands in those pages, or where hooks are described.
func TestMarksOfThePagesAreThoseOfTheCode(t *testing.T) {
	const root = "../../../"
	read := map[string]string{} // key in lower case, to the file that has it
	for _, folder := range []string{"agent", "render", "internal"} {
		err := filepath.WalkDir(root+folder, func(path string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					if key, err := strconv.Unquote(text.Value); err == nil && markOf.FindString(key) == key && key != "" {
						read[strings.ToLower(key)] = path
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(root + "docs/from/*.md")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	pages, obeyed := "", 0
	for _, name := range append(files, root+"docs/spec/hooks.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages += strings.ToLower(string(text))
		for line := range strings.Lines(string(text)) {
			mark, effect, row := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			if !strings.HasPrefix(line, "| `") || !row || strings.HasPrefix(effect, "none") {
				continue
			}
			for _, key := range markOf.FindAllString(mark, -1) {
				if obeyed++; read[strings.ToLower(key)] == "" {
					t.Errorf("%s: %s has the effect %q, and no code reads it", filepath.Base(name), key, strings.TrimSpace(effect))
				}
			}
		}
	}
	if obeyed < 10 {
		t.Errorf("the pages have %d marks with an effect", obeyed)
	}
	for _, key := range slices.Sorted(maps.Keys(read)) {
		if !strings.Contains(pages, key) && !slices.Contains(marksOfNoObject, key) {
			t.Errorf("%s reads %s, and no page for those who come from there has it", strings.TrimPrefix(read[key], root), key)
		}
	}
}
