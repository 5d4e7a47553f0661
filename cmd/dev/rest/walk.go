package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
)

// finding is a read whose assertion may come too early.
type finding struct {
	pos  token.Pos
	text string
}

// change is the last one that a test made.
type change struct {
	system system
	// reported is set once a condition on a system that reports the change was waited
	// for, early once one on another system was before that. arrived are the systems on
	// which one was.
	reported, early bool
	arrived         map[system]bool
	// stack are the calls that led to it.
	stack []token.Pos
}

// function is a value that can be called.
type function struct {
	lit *ast.FuncLit
	fn  *types.Func
}

// walker follows one function of a package, with the functions that it calls.
type walker struct {
	*loaded
	decls map[*types.Func]*ast.FuncDecl
	// end is the system in which this package's parts report at last.
	end system
	// env is which variables hold what was read too early; alias is which variable of a
	// caller a parameter points to, bound is what function a variable holds.
	env   map[types.Object]*finding
	alias map[types.Object]types.Object
	bound map[types.Object]function
	last  *change
	// waits is how deep the walk is in conditions that are waited for; seen is what these
	// read, and filled are the variables that they leave it in.
	waits  int
	seen   map[system]bool
	reads  int
	filled []types.Object
	stack  []token.Pos
	active []ast.Node
	// returned is what the function that is followed returns.
	returned *finding
	found    map[token.Pos]finding
}

const deepest = 10

// root is the variable that an expression is, or points to, nil if it is none.
func (w *walker) root(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		o := w.info.ObjectOf(e)
		for range deepest {
			next, ok := w.alias[o]
			if !ok || next == o {
				break
			}
			o = next
		}
		return o
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return w.root(e.X)
		}
	case *ast.StarExpr:
		return w.root(e.X)
	case *ast.IndexExpr:
		return w.root(e.X)
	}
	return nil
}

// do makes an effect, and returns what is wrong with its answer.
func (w *walker) do(e effect, at token.Pos) *finding {
	switch e.kind {
	case write:
		w.last = &change{system: e.system, arrived: map[system]bool{}, stack: append(slices.Clone(w.stack), at)}
	case wait:
		w.waited(map[system]bool{e.system: true})
	case read:
		w.reads++
		if w.waits > 0 {
			w.seen[e.system] = true
			return nil
		}
		return w.judge(e.system, at)
	}
	return nil
}

// judge is what is wrong with a read of a system now.
func (w *walker) judge(of system, at token.Pos) *finding {
	c := w.last
	if c == nil || c.reported || of == c.system && !c.early || c.system == git && c.arrived[of] {
		return nil
	}
	f := &finding{pos: w.place(at)}
	if of != c.system {
		f.text = string(of) + " is read once after a change of " + string(c.system) + ", which has not reported it"
	} else {
		f.text = string(of) + " is read once after a wait for another system, and may not show the change"
	}
	return f
}

// place is where the way to a read parts from the way to the last change.
func (w *walker) place(at token.Pos) token.Pos {
	way := append(slices.Clone(w.stack), at)
	for i, pos := range way {
		if i >= len(w.last.stack) || w.last.stack[i] != pos {
			return pos
		}
	}
	return at
}

// waited notes that a condition on systems holds.
func (w *walker) waited(seen map[system]bool) {
	c := w.last
	if c == nil || len(seen) == 0 {
		return
	}
	maps.Copy(c.arrived, seen)
	// A condition of an object often held before the change too; that of a revision did
	// not.
	held := c.early && c.system == kube
	if !held && (seen[c.system] || seen[w.end]) {
		c.reported = true
	} else if !c.reported {
		c.early = true
	}
}

// waitFor follows a condition that is waited for.
func (w *walker) waitFor(condition ast.Expr, at token.Pos) {
	if w.waits == 0 {
		w.seen, w.filled = map[system]bool{}, nil
	}
	w.waits++
	w.run(w.resolve(condition), nil, at)
	w.waits--
	if w.waits > 0 {
		return
	}
	// A condition on the system that was changed may have held before, when the wait for
	// the other one had ended.
	var f *finding
	if c := w.last; c != nil && c.early && !c.reported && w.seen[c.system] {
		f = w.judge(c.system, at)
	}
	for _, o := range w.filled {
		w.set(o, f)
	}
	w.waited(w.seen)
}

func (w *walker) set(o types.Object, f *finding) {
	if o == nil {
		return
	}
	if w.waits > 0 {
		w.filled = append(w.filled, o)
	}
	if f == nil {
		delete(w.env, o)
		return
	}
	w.env[o] = f
}

// assert notes a read that is asserted.
func (w *walker) assert(f *finding) {
	if f != nil && w.waits == 0 {
		w.found[f.pos] = *f
	}
}

// run follows a function with arguments, and returns what it returns.
func (w *walker) run(f function, args []ast.Expr, at token.Pos) *finding {
	var kind *ast.FuncType
	var body *ast.BlockStmt
	var node ast.Node
	if f.lit != nil {
		kind, body, node = f.lit.Type, f.lit.Body, f.lit
	} else if d := w.decls[f.fn]; d != nil {
		kind, body, node = d.Type, d.Body, d
	}
	if body == nil || slices.Contains(w.active, node) || len(w.active) > deepest {
		return nil
	}
	w.bind(kind, args)
	before := w.returned
	w.returned = nil
	w.stack, w.active = append(w.stack, at), append(w.active, node)
	w.block(body.List)
	w.stack, w.active = w.stack[:len(w.stack)-1], w.active[:len(w.active)-1]
	got := w.returned
	w.returned = before
	return got
}

// bind gives parameters their arguments.
func (w *walker) bind(kind *ast.FuncType, args []ast.Expr) {
	i := 0
	for _, field := range kind.Params.List {
		for _, name := range field.Names {
			o := w.info.Defs[name]
			delete(w.alias, o)
			delete(w.bound, o)
			delete(w.env, o)
			rest := args[min(i, len(args)):]
			if _, variadic := field.Type.(*ast.Ellipsis); !variadic {
				rest = rest[:min(1, len(rest))]
			}
			for _, arg := range rest {
				if f := w.resolve(arg); f != (function{}) {
					w.bound[o] = f
				} else if bad := w.eval(arg); bad != nil {
					w.env[o] = bad
				}
				if root := w.root(arg); root != nil && root != o {
					w.alias[o] = root
				}
			}
			i++
		}
	}
}

// resolve is the function that an expression is, if that is known.
func (w *walker) resolve(e ast.Expr) function {
	switch e := ast.Unparen(e).(type) {
	case *ast.FuncLit:
		return function{lit: e}
	case *ast.Ident:
		return w.named(w.info.ObjectOf(e), e)
	case *ast.SelectorExpr:
		return w.named(w.info.ObjectOf(e.Sel), e)
	case *ast.IndexExpr:
		return w.resolve(e.X)
	case *ast.IndexListExpr:
		return w.resolve(e.X)
	}
	return function{}
}

func (w *walker) named(o types.Object, e ast.Expr) function {
	if f, ok := o.(*types.Func); ok {
		return function{fn: f.Origin()}
	}
	if f, ok := w.bound[o]; ok {
		return f
	}
	return w.bound[w.root(e)]
}
