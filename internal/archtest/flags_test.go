package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Flags of lists and pairs keep values as they were given: those of pflag read CSV, which
// drops quotes, splits values and keeps their first line.
func TestFlagsKeepTheirValues(t *testing.T) {
	root, _, _, packages := load(t)
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && (strings.HasPrefix(s.Sel.Name, "StringToString") || strings.HasPrefix(s.Sel.Name, "StringSlice")) {
					t.Errorf("%s/%s calls %s: use internal/flagvalue", folder, filepath.Base(name), s.Sel.Name)
				}
				return true
			})
		}
	}
}
