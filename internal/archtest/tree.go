package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// module is the prefix of every first-party import.
const module = "github.com/axle-cd/axle/"

// Package is one folder of Go files as the parser sees it, build tags ignored.
type Package struct {
	// Name is the package clause of the non-test files.
	Name string
	// Docs are the package comments, one for each file that has one.
	Docs []string
	// Imports and TestImports are first-party folders, sorted, each once.
	Imports     []string
	TestImports []string
	// Outside are all other imports of non-test files.
	Outside []string
	// Tested is whether it has tests of its own.
	Tested bool
	// Concurrent is the place of its first goroutine, channel, lock or atomic, in the code
	// or in the tests.
	Concurrent string
	// APIServer is the place of the first API server that it starts for itself.
	APIServer string
	// Habits are sentences about calls and aliases that this project avoids.
	Habits []string
}

// skipped are folders with their own modules or without our Go code, by name or by path.
var skipped = map[string]bool{".git": true, "node_modules": true, "testdata": true, "test/kube/kubedev": true, "test/goldens": true, "tools": true, "dist": true}

// ownModule reports whether a folder is a separate module, which is not part of the
// product.
func ownModule(path string) bool {
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// walk calls visit with each Go file of the product, relative to root.
func walk(root string, visit func(rel string) error) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if skipped[d.Name()] || skipped[rel] || (rel != "." && (strings.HasPrefix(d.Name(), "zz_") || strings.HasPrefix(d.Name(), "_") || ownModule(path))) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		return visit(rel)
	})
}

// Load parses every Go file below root.
func Load(root string) (map[string]*Package, error) {
	packages := map[string]*Package{}
	files := token.NewFileSet()
	err := walk(root, func(rel string) error {
		file, err := parser.ParseFile(files, filepath.Join(root, rel), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(rel))
		if packages[folder] == nil {
			packages[folder] = &Package{}
		}
		packages[folder].add(rel, file, files)
		return nil
	})
	for _, p := range packages {
		for _, list := range []*[]string{&p.Imports, &p.TestImports, &p.Outside} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
	}
	return packages, err
}

func (p *Package) add(path string, file *ast.File, files *token.FileSet) {
	test := strings.HasSuffix(path, "_test.go")
	generated := ast.IsGenerated(file)
	p.Tested = p.Tested || test
	if !test {
		p.Name = file.Name.Name
		if file.Doc != nil && !generated {
			p.Docs = append(p.Docs, file.Doc.Text())
		} else if file.Doc != nil {
			p.Docs = append(p.Docs, "generated: "+file.Doc.Text())
		}
	}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if own, ok := strings.CutPrefix(imported, module); ok {
			if test {
				p.TestImports = append(p.TestImports, own)
			} else {
				p.Imports = append(p.Imports, own)
			}
		} else if !test {
			p.Outside = append(p.Outside, imported)
		}
		if spec.Name != nil && !generated && !aliasAllowed(spec.Name.Name, imported) {
			p.Habits = append(p.Habits, fmt.Sprintf("%s: import alias %s for %s; aliases are for Kubernetes, versioned and generated packages", files.Position(spec.Pos()), spec.Name.Name, imported))
		}
	}
	if !generated {
		p.habits(path, file, files, test)
		p.concurrency(path, file, files)
		p.apiServer(path, file, files)
	}
}

// aliasAllowed reports whether an import alias is expected for a path.
func aliasAllowed(alias, path string) bool {
	last := path[strings.LastIndex(path, "/")+1:]
	versioned := len(last) > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9'
	return alias == "_" || versioned || strings.Contains(path, "k8s.io/") || strings.HasPrefix(path, "helm.sh/") || strings.HasPrefix(path, module+"api/")
}

// endsStart is the file that ends a program with a wrong definition when it
// starts, as regexp.MustCompile does.
const endsStart = "hub/store/rows/wrong.go"

// cutsConnection reports whether a call is panic(http.ErrAbortHandler).
func cutsConnection(call *ast.CallExpr) bool {
	if len(call.Args) != 1 {
		return false
	}
	s, ok := call.Args[0].(*ast.SelectorExpr)
	return ok && s.Sel.Name == "ErrAbortHandler"
}

// habits records calls that hide failures or time.
func (p *Package) habits(path string, file *ast.File, files *token.FileSet, test bool) {
	program := strings.HasPrefix(path, "cmd/") || strings.Contains(path, "/testdata/")
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		what := ""
		switch f := call.Fun.(type) {
		case *ast.Ident:
			// This is the only way in net/http to close a connection in the middle of
			// an answer.
			if f.Name == "panic" && !program && !test && path != endsStart && !cutsConnection(call) {
				what = "panic"
			}
		case *ast.SelectorExpr:
			if x, ok := f.X.(*ast.Ident); ok {
				what = avoided(x.Name, f.Sel.Name, program, test)
			}
			if test && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, f.Sel.Name) && path != "internal/archtest/archtest_test.go" {
				what = "a skipped test; fail with the command that provides what is missing"
			}
		}
		if what != "" {
			p.Habits = append(p.Habits, fmt.Sprintf("%s: %s", files.Position(call.Pos()), what))
		}
		return true
	})
}

func avoided(pkg, name string, program, test bool) string {
	switch {
	case pkg == "time" && name == "Sleep" && test:
		return "time.Sleep in a test; wait for a condition or use a clock"
	case pkg == "fmt" && strings.HasPrefix(name, "Print") && !program && !test:
		return "fmt." + name + " outside cmd"
	case pkg == "log" && (strings.HasPrefix(name, "Fatal") || strings.HasPrefix(name, "Panic")) && !program:
		return "log." + name + " outside cmd"
	}
	return ""
}

// vague are package names without meaning.
var vague = []string{"util", "utils", "common", "shared", "helper", "helpers", "misc", "base", "types", "models"}

// standard are names of Go's own packages that would confuse a reader.
var standard = []string{"http", "net", "url", "json", "sql", "errors", "fmt", "log", "slog", "io", "os", "time", "sync", "context", "strings", "bytes", "sort", "slices", "maps", "path", "filepath", "template", "testing", "rand", "hash", "crypto", "tls", "user", "signal", "exec"}

// CheckNames returns a sentence for each package whose name or doc is missing
// or misleading.
func CheckNames(packages map[string]*Package) []string {
	var bad []string
	for name, p := range packages {
		if p.Name == "" {
			continue // only tests
		}
		if slices.Contains(vague, p.Name) || slices.Contains(standard, p.Name) {
			bad = append(bad, fmt.Sprintf("%s: package name %q is vague or Go's own", name, p.Name))
		}
		var docs, own int
		for _, doc := range p.Docs {
			if strings.HasPrefix(doc, "generated: ") {
				docs++
				continue
			}
			own++
			if !strings.HasPrefix(doc, "Package "+p.Name) && !strings.HasPrefix(doc, "Command ") {
				bad = append(bad, fmt.Sprintf("%s: package doc starts %.40q", name, doc))
			}
		}
		if own > 1 || (own == 0 && docs == 0 && !strings.HasPrefix(name, "api/")) {
			bad = append(bad, fmt.Sprintf("%s: %d package docs, want one", name, own))
		}
	}
	slices.Sort(bad)
	return bad
}

// Root returns the folder of go.mod at or above the working folder.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the working folder")
		}
		dir = parent
	}
}
