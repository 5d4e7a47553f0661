package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
)

func main() {
	problems, err := look(context.Background(), ".", os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, p := range problems {
		fmt.Println(p)
	}
	if len(problems) > 0 {
		fmt.Println("wait for what is asserted, for rest, or for what the changed system reports (internal/eventually); //rest: reason allows a line")
		os.Exit(1)
	}
}

// look returns a line for each problem in the packages.
func look(ctx context.Context, dir string, patterns []string) ([]string, error) {
	all, err := load(ctx, dir, patterns)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, l := range all {
		problems = append(problems, l.problems()...)
		more, err := scripts(l.dir)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
	}
	slices.Sort(problems)
	return slices.Compact(problems), nil
}

// problems are the findings that no comment allows, and the comments that allow none.
func (l *loaded) problems() (lines []string) {
	allowed, used := l.allowed(), map[string]bool{}
	for pos, f := range l.findings() {
		at := l.fset.Position(pos)
		line, above := fmt.Sprintf("%s:%d", at.Filename, at.Line), fmt.Sprintf("%s:%d", at.Filename, at.Line-1)
		switch {
		case allowed[line]:
			used[line] = true
		case allowed[above]:
			used[above] = true
		default:
			lines = append(lines, line+": "+f.text)
		}
	}
	for line := range allowed {
		if !used[line] {
			lines = append(lines, line+": this comment allows nothing: take it out")
		}
	}
	return lines
}

// allowed are the lines with a comment //rest: reason.
func (l *loaded) allowed() map[string]bool {
	lines := map[string]bool{}
	for _, file := range l.files {
		for _, group := range file.Comments {
			for _, c := range group.List {
				if reason, ok := strings.CutPrefix(c.Text, "//rest:"); ok && strings.TrimSpace(reason) != "" {
					at := l.fset.Position(c.Pos())
					lines[fmt.Sprintf("%s:%d", at.Filename, at.Line)] = true
				}
			}
		}
	}
	return lines
}

// findings walks the functions that no other function of the package calls.
func (l *loaded) findings() map[token.Pos]finding {
	decls, called, end := map[*types.Func]*ast.FuncDecl{}, map[*types.Func]bool{}, hub
	for _, file := range l.files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				decls[l.info.Defs[f.Name].(*types.Func)] = f
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				f := callee(l.info, c)
				called[f] = true
				if runsOperator(f) {
					end = kube
				}
			}
			return true
		})
	}
	found := map[token.Pos]finding{}
	for f, d := range decls {
		if called[f] {
			continue
		}
		w := &walker{loaded: l, decls: decls, end: end, env: map[types.Object]*finding{}, alias: map[types.Object]types.Object{}, bound: map[types.Object]function{}, seen: map[system]bool{}, found: found}
		w.run(function{fn: f}, nil, d.Pos())
	}
	return found
}

func callee(info *types.Info, c *ast.CallExpr) *types.Func {
	switch e := ast.Unparen(c.Fun).(type) {
	case *ast.Ident:
		if f, ok := info.Uses[e].(*types.Func); ok {
			return f.Origin()
		}
	case *ast.SelectorExpr:
		if f, ok := info.Uses[e.Sel].(*types.Func); ok {
			return f.Origin()
		}
	}
	return nil
}
