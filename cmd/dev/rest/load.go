package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is a package as go list describes it.
type listed struct {
	ImportPath, Dir, Export, ForTest string
	DepOnly                          bool
	GoFiles                          []string
	ImportMap                        map[string]string
}

// loaded is a package with its types.
type loaded struct {
	dir   string
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
}

// load reads the packages that match patterns, each with its tests. What they import
// comes from the build cache, where the tests leave it.
func load(ctx context.Context, dir string, patterns []string) ([]*loaded, error) {
	args := append([]string{"list", "-export", "-test", "-deps", "-json=ImportPath,Dir,Export,ForTest,DepOnly,GoFiles,ImportMap"}, patterns...)
	command := exec.CommandContext(ctx, "go", args...)
	var errs bytes.Buffer
	command.Dir, command.Stderr = dir, &errs
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, errs.Bytes())
	}
	exports := map[string]string{}
	var wanted []*listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		// The program of a test is generated, and a package is read with its tests if it
		// has any of its own.
		if !p.DepOnly && !strings.HasSuffix(p.ImportPath, ".test") {
			wanted = append(wanted, p)
		}
	}
	var all []*loaded
	for _, p := range wanted {
		l, err := check(p, exports)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

func check(p *listed, exports map[string]string) (*loaded, error) {
	l := &loaded{dir: p.Dir, fset: token.NewFileSet(), info: &types.Info{
		Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{},
	}}
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(l.fset, filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		l.files = append(l.files, file)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		if mapped, ok := p.ImportMap[path]; ok {
			path = mapped
		}
		return os.Open(exports[path])
	}
	config := types.Config{Importer: importer.ForCompiler(l.fset, "gc", lookup)}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	if _, err := config.Check(path, l.fset, l.files, l.info); err != nil {
		return nil, err
	}
	return l, nil
}
