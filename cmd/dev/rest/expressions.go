package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// eval follows an expression, and returns what is wrong with asserting it.
func (w *walker) eval(e ast.Expr) *finding {
	switch e := e.(type) {
	case *ast.Ident:
		return w.env[w.root(e)]
	case *ast.CallExpr:
		return w.call(e)
	case *ast.SelectorExpr:
		return w.eval(e.X)
	case *ast.ParenExpr:
		return w.eval(e.X)
	case *ast.StarExpr:
		return w.eval(e.X)
	case *ast.UnaryExpr:
		return w.eval(e.X)
	case *ast.TypeAssertExpr:
		return w.eval(e.X)
	case *ast.IndexExpr:
		return either(w.eval(e.X), w.eval(e.Index))
	case *ast.SliceExpr:
		return w.eval(e.X)
	case *ast.BinaryExpr:
		return either(w.eval(e.X), w.eval(e.Y))
	case *ast.KeyValueExpr:
		return w.eval(e.Value)
	case *ast.CompositeLit:
		return w.all(e.Elts)
	}
	return nil
}

func (w *walker) all(list []ast.Expr) (f *finding) {
	for _, e := range list {
		f = either(f, w.eval(e))
	}
	return f
}

// call follows a call, and returns what is wrong with its results.
func (w *walker) call(c *ast.CallExpr) *finding {
	f := w.resolve(c.Fun)
	if f.lit != nil {
		return w.run(f, c.Args, c.Pos())
	}
	var of *finding
	if s, ok := c.Fun.(*ast.SelectorExpr); ok {
		of = w.eval(s.X)
	}
	if f.fn == nil { // a conversion, a builtin, or a function that nobody knows
		return either(of, w.all(c.Args))
	}
	if system, ok := commands[f.fn.Name()]; ok && variadicStrings(f.fn) {
		return w.command(c, f.fn, system)
	}
	e, isEffect := effectOf(f.fn)
	switch {
	case f.fn.Name() == "Cleanup" || f.fn.Name() == "AfterFunc":
		return nil
	case isRest(f.fn):
		w.last = nil
		return nil
	case isWait(f.fn):
		w.waitFor(c.Args[len(c.Args)-1], c.Pos())
		return nil
	case isEffect:
		return w.effect(e, c)
	case w.decls[f.fn] != nil:
		return w.run(f, c.Args, c.Pos())
	}
	return either(of, w.external(c))
}

// external follows the arguments of a function of another package: it calls the
// functions among them.
func (w *walker) external(c *ast.CallExpr) (bad *finding) {
	for _, arg := range c.Args {
		switch f := w.resolve(arg); {
		case f.lit != nil || w.decls[f.fn] != nil:
			bad = either(bad, w.run(f, nil, arg.Pos()))
		case f.fn != nil:
			if e, ok := effectOf(f.fn); ok {
				bad = either(bad, w.do(e, arg.Pos()))
			}
		default:
			bad = either(bad, w.eval(arg))
		}
	}
	return bad
}

// effect makes the effect of a call, which fills the variables that it is given.
func (w *walker) effect(e effect, c *ast.CallExpr) *finding {
	w.all(c.Args)
	if e.system == git && len(c.Args) > 2 {
		if branch := w.info.Types[c.Args[2]].Value; branch != nil && constant.StringVal(branch) != "main" {
			return nil // no service follows it
		}
	}
	bad := w.do(e, c.Pos())
	if e.kind != read {
		return bad
	}
	for _, arg := range c.Args {
		if o := w.root(arg); o != nil {
			if _, pointer := w.info.TypeOf(arg).Underlying().(*types.Basic); !pointer {
				w.set(o, bad)
			}
		}
	}
	return bad
}

// command follows axle or kubectl.
func (w *walker) command(c *ast.CallExpr, f *types.Func, of system) (bad *finding) {
	w.all(c.Args)
	var args []string
	for _, arg := range c.Args[min(len(c.Args), f.Signature().Params().Len()-1):] {
		text := "?"
		if v := w.info.Types[arg].Value; v != nil && v.Kind() == constant.String {
			text = constant.StringVal(v)
		} else if c.Ellipsis != token.NoPos {
			break
		}
		args = append(args, text)
	}
	effects := effectsOfCommand(f.Name(), of, args)
	if len(effects) == 0 && w.waits > 0 {
		effects = []effect{{read, of}} // a condition is no change
	}
	for _, e := range effects {
		bad = either(bad, w.do(e, c.Pos()))
	}
	return bad
}

func variadicStrings(f *types.Func) bool {
	s := f.Signature()
	if !s.Variadic() {
		return false
	}
	last := s.Params().At(s.Params().Len() - 1).Type().(*types.Slice)
	return types.Identical(last.Elem(), types.Typ[types.String])
}
