package luabox

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// concatName is a local variable that no script can name: it is not a valid Lua name.
const concatName = "\x00concat"

// Limits of a script's text. The operands are those of one call, so that a chain of
// any length fits into the registers. The depth is that of nested expressions and
// blocks, because compilers recurse.
const (
	maxSource = 256 << 10
	operands  = 32
	deep      = 2000
)

// Script is a compiled script. It can run in any number of boxes.
type Script struct {
	proto *lua.FunctionProto
}

// Compile compiles a script; name is used in its messages.
func Compile(name, source string) (script *Script, err error) {
	if len(source) > maxSource {
		return nil, &Error{Message: fmt.Sprintf("%s: the script has %d bytes; %d are allowed", name, len(source), maxSource)}
	}
	defer func() {
		if r := recover(); r != nil {
			script, err = nil, &Error{Message: fmt.Sprintf("%s: %v", name, r)}
		}
	}()
	statements, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, failure(err)
	}
	if !rewrite(reflect.ValueOf(&statements), 0) {
		return nil, &Error{Message: name + ": the script is nested too deep"}
	}
	proto, err := lua.Compile(withConcat(statements), name)
	if err != nil {
		return nil, failure(err)
	}
	return &Script{proto: proto}, nil
}

// withConcat wraps the script into a function that takes the bounded concatenation as
// its first argument:
//
//	local CONCAT = ...
//	return (function(...) SCRIPT end)()
func withConcat(statements []ast.Stmt) []ast.Stmt {
	dots := &ast.Comma3Expr{}
	inner := &ast.FunctionExpr{ParList: &ast.ParList{HasVargs: true}, Stmts: statements}
	call := &ast.FuncCallExpr{Func: inner}
	take := &ast.LocalAssignStmt{Names: []string{concatName}, Exprs: []ast.Expr{dots}}
	give := &ast.ReturnStmt{Exprs: []ast.Expr{call}}
	last := 1
	if n := len(statements); n > 0 {
		last = max(last, statements[n-1].LastLine(), statements[n-1].Line())
	}
	for _, node := range []ast.PositionHolder{dots, inner, call, take, give} {
		node.SetLine(1)
		node.SetLastLine(last)
	}
	return []ast.Stmt{take, give}
}

// rewrite replaces every concatenation below a value. It returns false if the value
// is nested too deep.
func rewrite(v reflect.Value, depth int) bool {
	switch v.Kind() {
	case reflect.Slice:
		for n := range v.Len() {
			if !rewrite(v.Index(n), depth) {
				return false
			}
		}
	case reflect.Pointer:
		return v.IsNil() || rewrite(v.Elem(), depth)
	case reflect.Struct:
		for n := range v.NumField() {
			if v.Type().Field(n).IsExported() && !rewrite(v.Field(n), depth) {
				return false
			}
		}
	case reflect.Interface:
		if v.IsNil() {
			return true
		}
		if op, ok := v.Interface().(*ast.StringConcatOpExpr); ok {
			v.Set(reflect.ValueOf(concatCall(op, chain(op))))
		}
		return depth < deep && rewrite(v.Elem(), depth+1)
	}
	return true
}

// chain lists the operands of a .. b .. c, which is a .. (b .. c).
func chain(op *ast.StringConcatOpExpr) []ast.Expr {
	list := []ast.Expr{op.Lhs}
	for {
		next, more := op.Rhs.(*ast.StringConcatOpExpr)
		if !more {
			return append(list, single(op.Rhs))
		}
		list, op = append(list, next.Lhs), next
	}
}

// single truncates the last operand to one value when it becomes the last argument.
func single(last ast.Expr) ast.Expr {
	switch last := last.(type) {
	case *ast.FuncCallExpr:
		last.AdjustRet = true
	case *ast.Comma3Expr:
		last.AdjustRet = true
	}
	return last
}

// concatCall joins a chain, and a too long one group by group.
func concatCall(op *ast.StringConcatOpExpr, list []ast.Expr) ast.Expr {
	for len(list) > operands {
		var groups []ast.Expr
		for group := range slices.Chunk(list, operands) {
			groups = append(groups, callConcat(op, group))
		}
		list = groups
	}
	return callConcat(op, list)
}

func callConcat(op *ast.StringConcatOpExpr, list []ast.Expr) ast.Expr {
	name := &ast.IdentExpr{Value: concatName}
	call := &ast.FuncCallExpr{Func: name, Args: slices.Clone(list), AdjustRet: true}
	for _, node := range []ast.PositionHolder{name, call} {
		node.SetLine(op.Line())
		node.SetLastLine(op.LastLine())
	}
	return call
}
