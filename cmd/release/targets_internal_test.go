package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestProgramsFitEveryTarget checks the types of all programs for the targets that are
// not this machine, with the files that each of them takes: what a release would find
// after minutes. Of libraries only the declarations are checked, which makes it some
// seconds for each.
func TestProgramsFitEveryTarget(t *testing.T) {
	c := &checker{files: token.NewFileSet(), parsed: map[string]*ast.File{}}
	for _, target := range allTargets {
		if target.os == runtime.GOOS && target.arch == runtime.GOARCH {
			continue // go vet did that
		}
		t.Run(target.String(), func(t *testing.T) {
			packages := listed(t, target)
			ours := 0
			have := map[string]*types.Package{}
			for _, p := range packages {
				if p.ours() {
					ours++
				}
				if err := c.check(p, target, have); err != nil {
					t.Error(err)
				}
			}
			if ours < 20 {
				t.Errorf("only %d packages of ours were checked", ours)
			}
		})
	}
}

// TestUnfitPackagesAreFound gives the checker what it is there for.
func TestUnfitPackagesAreFound(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"package p\n\nimport \"os\"\n\nvar X = 1\n":         `"os" imported and not used`,
		"package p\n\nfunc f() int { var n int; return 1 }": "declared and not used: n",
		"package p\n\nfunc f( {":                            "expected",
		"package p\n":                                       "",
	} {
		c := &checker{files: token.NewFileSet(), parsed: map[string]*ast.File{}}
		library := types.NewPackage("os", "os")
		library.MarkComplete()
		if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p := listedPackage{ImportPath: module + "p", Dir: dir, GoFiles: []string{"p.go"}}
		err := c.check(p, target{"linux", "arm64"}, map[string]*types.Package{"os": library})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

const module = "github.com/axle-cd/axle/"

// listedPackage is what go list says of a package.
type listedPackage struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
}

func (p listedPackage) ours() bool { return strings.HasPrefix(p.ImportPath, module) }

// listed are the packages of a target's programs, each after those that it imports.
func listed(t *testing.T, target target) []listedPackage {
	t.Helper()
	args := []string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap"}
	for _, name := range target.programs() {
		args = append(args, "./cmd/"+name)
	}
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Dir, c.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOOS="+target.os, "GOARCH="+target.arch)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listedPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ours() {
			if _, err := os.ReadDir(p.Dir); err != nil { // an input of the test: a file more is one to check
				t.Fatal(err)
			}
		}
		all = append(all, p)
	}
}

// checker checks types from source, parsing each file once for all targets.
type checker struct {
	files  *token.FileSet
	parsed map[string]*ast.File
}

func (c *checker) check(p listedPackage, target target, have map[string]*types.Package) error {
	if p.ImportPath == "unsafe" {
		have["unsafe"] = types.Unsafe
		return nil
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := c.parse(filepath.Join(p.Dir, name), p.ours())
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	var wrong []error
	config := types.Config{
		IgnoreFuncBodies: !p.ours(), Sizes: types.SizesFor("gc", target.arch),
		Importer: importer(func(path string) (*types.Package, error) {
			if mapped, ok := p.ImportMap[path]; ok {
				path = mapped
			}
			if found := have[path]; found != nil {
				return found, nil
			}
			return nil, fmt.Errorf("no package %s", path)
		}),
		Error: func(err error) { wrong = append(wrong, err) },
	}
	checked, _ := config.Check(p.ImportPath, c.files, files, nil)
	if checked != nil {
		checked.MarkComplete()
	}
	have[p.ImportPath] = checked
	return errors.Join(wrong...)
}

// parse drops the bodies of libraries' functions, which are most of the memory.
func (c *checker) parse(path string, whole bool) (*ast.File, error) {
	if file := c.parsed[path]; file != nil {
		return file, nil
	}
	file, err := parser.ParseFile(c.files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if !whole {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				f.Body = &ast.BlockStmt{Lbrace: f.Body.Lbrace, Rbrace: f.Body.Rbrace}
			}
		}
	}
	c.parsed[path] = file
	return file, nil
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
