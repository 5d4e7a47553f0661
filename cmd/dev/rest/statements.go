package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

func (w *walker) block(list []ast.Stmt) {
	for _, s := range list {
		w.statement(s)
	}
}

func (w *walker) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.ExprStmt:
		w.eval(s.X)
	case *ast.AssignStmt:
		w.assign(s.Lhs, s.Rhs, s.Tok)
	case *ast.DeclStmt:
		w.declare(s)
	case *ast.IfStmt:
		w.condition(s)
	case *ast.ReturnStmt:
		for _, e := range s.Results {
			w.returned = either(w.returned, w.eval(e))
		}
	case *ast.GoStmt:
		w.eval(s.Call)
	case *ast.BlockStmt:
		w.block(s.List)
	case *ast.LabeledStmt:
		w.statement(s.Stmt)
	default:
		w.branches(s)
	}
}

// branches follows loops once, and cases one after the other.
func (w *walker) branches(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.ForStmt:
		w.optional(s.Init)
		if s.Cond != nil {
			w.eval(s.Cond)
		}
		w.block(s.Body.List)
		w.optional(s.Post)
	case *ast.RangeStmt:
		w.assign(slices.DeleteFunc([]ast.Expr{s.Key, s.Value}, func(e ast.Expr) bool { return e == nil }), []ast.Expr{s.X}, token.DEFINE)
		w.block(s.Body.List)
	case *ast.SwitchStmt:
		w.optional(s.Init)
		var tag *finding
		if s.Tag != nil {
			tag = w.eval(s.Tag)
		}
		w.cases(s.Body.List, tag)
	case *ast.TypeSwitchStmt:
		w.optional(s.Init)
		w.statement(s.Assign)
		w.cases(s.Body.List, nil)
	case *ast.SelectStmt:
		for _, c := range s.Body.List {
			w.block(c.(*ast.CommClause).Body)
		}
	}
}

func (w *walker) declare(s *ast.DeclStmt) {
	d, ok := s.Decl.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range d.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok {
			w.assign(identifiers(v.Names), v.Values, token.DEFINE)
		}
	}
}

func (w *walker) optional(s ast.Stmt) {
	if s != nil {
		w.statement(s)
	}
}

func identifiers(names []*ast.Ident) (all []ast.Expr) {
	for _, n := range names {
		all = append(all, n)
	}
	return all
}

func (w *walker) assign(left, right []ast.Expr, how token.Token) {
	for i, e := range right {
		to := left
		if len(right) == len(left) {
			to = left[i : i+1]
		}
		if f := w.resolve(e); f != (function{}) && len(to) == 1 {
			if o := w.root(to[0]); o != nil {
				w.bound[o] = f
			}
			continue
		}
		reads := w.reads
		f := w.eval(e)
		for _, l := range to {
			o := w.root(l)
			_, whole := ast.Unparen(l).(*ast.Ident)
			if whole && how == token.DEFINE {
				o = w.info.ObjectOf(l.(*ast.Ident))
				delete(w.alias, o)
			}
			if w.waits > 0 && w.reads == reads || f == nil && (!whole || how != token.ASSIGN && how != token.DEFINE) {
				continue // it holds what it held, with something more
			}
			w.set(o, f)
		}
	}
}

// condition follows an if: what it compares is asserted if it fails the test.
func (w *walker) condition(s *ast.IfStmt) {
	w.optional(s.Init)
	f := w.compared(s.Cond)
	if w.fails(s.Body) || s.Else != nil && w.fails(s.Else) {
		w.assert(f)
	}
	w.branch(s.Body.List)
	if s.Else != nil {
		w.statement(s.Else)
	}
}

// branch follows statements; what they change counts unless they end the function.
func (w *walker) branch(list []ast.Stmt) {
	before := w.last
	w.block(list)
	if len(list) > 0 && w.ends(list[len(list)-1]) {
		w.last = before
	}
}

func (w *walker) cases(list []ast.Stmt, tag *finding) {
	for _, c := range list {
		clause := c.(*ast.CaseClause)
		f := tag
		for _, e := range clause.List {
			f = either(f, w.compared(e))
		}
		if slices.ContainsFunc(clause.Body, func(s ast.Stmt) bool { return w.fails(s) }) {
			w.assert(f)
		}
		w.branch(clause.Body)
	}
}

// compared is what a condition compares. Whether there is an error at all is no
// assertion on what was read.
func (w *walker) compared(e ast.Expr) *finding {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	if !ok {
		return w.eval(e)
	}
	switch b.Op {
	case token.LAND, token.LOR:
		return either(w.compared(b.X), w.compared(b.Y))
	case token.NEQ:
		if w.info.Types[b.Y].IsNil() && types.Identical(w.info.TypeOf(b.X), types.Universe.Lookup("error").Type()) {
			w.eval(b.X)
			return nil
		}
	}
	return either(w.eval(b.X), w.eval(b.Y))
}

var failing = []string{"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"}

// fails reports whether a statement fails the test.
func (w *walker) fails(s ast.Stmt) (yes bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		if c, ok := n.(*ast.CallExpr); ok && w.isFailure(c) {
			yes = true
		}
		return true
	})
	return yes
}

func (w *walker) isFailure(c *ast.CallExpr) bool {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains(failing, s.Sel.Name) {
		return false
	}
	helper, _, _ := types.LookupFieldOrMethod(w.info.TypeOf(s.X), true, nil, "Helper")
	return helper != nil
}

// ends reports whether nothing follows a statement.
func (w *walker) ends(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ExprStmt:
		c, ok := s.X.(*ast.CallExpr)
		return ok && w.isFailure(c)
	}
	return false
}

func either(a, b *finding) *finding {
	if a != nil {
		return a
	}
	return b
}
