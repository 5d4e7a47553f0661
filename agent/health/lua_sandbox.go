package health

import (
	"reflect"
	"strings"
	"sync"

	"github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// concatName is a global that no script can write: it is no word of Lua.
const concatName = "\x00concat"

// removed are the parts of the base library that read files, compile text that
// did not pass through bound, print, or change what functions see.
var removed = []string{"collectgarbage", "dofile", "getfenv", "load", "loadfile", "loadstring", "print", "setfenv",
	"_printregs", "module", "require", "newproxy"}

// smallArrays keeps t[60000000] = 1 from allocating a gigabyte of nils; larger
// indexes go to the table's hash.
var smallArrays = sync.OnceFunc(func() { lua.MaxArrayIndex = 4096 })

// newState makes a machine with base, string, table and math, the two helpers
// of Plural, and the clock of Argo CD's scripts: os.time and os.date, nothing
// else of os.
func newState() *lua.LState {
	smallArrays()
	state := lua.NewState(lua.Options{SkipOpenLibs: true, CallStackSize: maxLuaCalls, MinimizeStackMemory: true,
		RegistrySize: 512, RegistryGrowStep: 256, RegistryMaxSize: 8192})
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath, lua.OpenOs} {
		state.Push(state.NewFunction(open))
		state.Call(0, 0)
	}
	global := state.G.Global
	for _, name := range removed {
		global.RawSetString(name, lua.LNil)
	}
	clock := state.NewTable()
	if whole, ok := global.RawGetString(lua.OsLibName).(*lua.LTable); ok {
		clock.RawSetString("time", whole.RawGetString("time"))
		clock.RawSetString("date", whole.RawGetString("date"))
	}
	global.RawSetString(lua.OsLibName, clock)
	boundText(state, global)
	global.RawSetString(concatName, state.NewFunction(concat))
	global.RawSetString("statusConditionExists", state.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LBool(statusOf(l) != lua.LNil))
		return 1
	}))
	global.RawSetString("isStatusConditionTrue", state.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LBool(statusOf(l) == lua.LString("True")))
		return 1
	}))
	return state
}

// statusOf finds the status of the condition that the second argument names,
// in the conditions of the first.
func statusOf(l *lua.LState) lua.LValue {
	status, ok := l.Get(1).(*lua.LTable)
	if !ok {
		return lua.LNil
	}
	list, ok := status.RawGetString("conditions").(*lua.LTable)
	if !ok {
		return lua.LNil
	}
	for n := 1; n <= list.Len(); n++ {
		if c, ok := list.RawGetInt(n).(*lua.LTable); ok && c.RawGetString("type") == l.Get(2) {
			return c.RawGetString("status")
		}
	}
	return lua.LNil
}

// boundText wraps every function whose cost is not in its instructions.
func boundText(state *lua.LState, global *lua.LTable) {
	texts, _ := global.RawGetString(lua.StringLibName).(*lua.LTable)
	tables, _ := global.RawGetString(lua.TabLibName).(*lua.LTable)
	texts.RawSetString("dump", lua.LNil)
	wrap := func(table *lua.LTable, name string, check func(l *lua.LState)) {
		original, ok := table.RawGetString(name).(*lua.LFunction)
		if !ok {
			return
		}
		wrapped := state.NewFunction(func(l *lua.LState) int {
			check(l)
			return original.GFunction(l)
		})
		wrapped.Upvalues = original.Upvalues
		table.RawSetString(name, wrapped)
	}
	for _, name := range []string{"find", "match", "gmatch", "gfind", "gsub"} {
		wrap(texts, name, func(l *lua.LState) { checkPattern(l, name) })
	}
	wrap(texts, "rep", func(l *lua.LState) {
		if n := l.CheckInt(2); n > 0 && n > maxText/max(1, len(l.CheckString(1))) {
			l.RaiseError("string.rep: the text would be too long")
		}
	})
	wrap(texts, "format", checkFormat)
	wrap(tables, "concat", checkJoin)
}

// checkPattern refuses what could go back over the text for longer than a few
// tenths of a second, by the number of the pattern's open ends.
func checkPattern(l *lua.LState, name string) {
	text, pattern := l.CheckString(1), l.CheckString(2)
	if name == "find" && l.GetTop() >= 4 && lua.LVAsBool(l.Get(4)) {
		return
	}
	cost := 1.0
	if !strings.HasPrefix(pattern, "^") {
		cost = float64(len(text) + 1)
	}
	for range openEnds(pattern) {
		cost *= float64(len(text) + 1)
	}
	if len(pattern) > 1024 || len(text) > 64<<10 || cost > 5e7 {
		l.RaiseError("string.%s: the pattern is too costly for a text of %d bytes", name, len(text))
	}
	if name != "gsub" {
		return
	}
	if kind := l.Get(3).Type(); (kind == lua.LTFunction || kind == lua.LTTable) && len(text) > 1024 {
		l.RaiseError("string.gsub: the text could be too long")
	}
	if by, ok := l.Get(3).(lua.LString); ok {
		grown := len(by)
		if strings.Contains(string(by), "%") {
			grown += len(by) * len(text)
		}
		if (len(text)+1)*grown > maxText*4 {
			l.RaiseError("string.gsub: the text could be too long")
		}
	}
}

// openEnds counts the repeats of a pattern.
func openEnds(pattern string) int {
	count, set := 0, false
	for n := 0; n < len(pattern); n++ {
		switch c := pattern[n]; {
		case c == '%':
			n++
		case set:
			set = c != ']'
		case c == '[':
			set = true
		case strings.IndexByte("*+-?", c) >= 0:
			count++
		}
	}
	return count
}

func checkFormat(l *lua.LState) {
	total, digits := 0, 0
	for n := 1; n <= l.GetTop(); n++ {
		if text, ok := l.Get(n).(lua.LString); ok {
			total += len(text)
		}
	}
	for _, c := range l.CheckString(1) {
		if digits++; c < '0' || c > '9' {
			digits = 0
		}
		if digits > 3 {
			l.RaiseError("string.format: the text would be too long")
		}
	}
	if total > maxText {
		l.RaiseError("string.format: the text would be too long")
	}
}

func checkJoin(l *lua.LState) {
	list, between := l.CheckTable(1), len(l.OptString(2, ""))
	total := 0
	for n := 1; n <= list.Len(); n++ {
		if text, ok := list.RawGetInt(n).(lua.LString); ok {
			total += len(text)
		}
		if total += between; total > maxText {
			l.RaiseError("table.concat: the text would be too long")
		}
	}
}

// concat is the operator `..`.
func concat(l *lua.LState) int {
	left, right := l.Get(1), l.Get(2)
	if lua.LVCanConvToString(left) && lua.LVCanConvToString(right) {
		a, b := lua.LVAsString(left), lua.LVAsString(right)
		if len(a)+len(b) > maxText {
			l.RaiseError("the text would be longer than %d bytes", maxText)
		}
		l.Push(lua.LString(a + b))
		return 1
	}
	for _, side := range []lua.LValue{left, right} {
		if method, ok := l.GetMetaField(side, "__concat").(*lua.LFunction); ok {
			l.Push(method)
			l.Push(left)
			l.Push(right)
			l.Call(2, 1)
			return 1
		}
	}
	if lua.LVCanConvToString(left) {
		left = right
	}
	l.RaiseError("attempt to concatenate a %s value", left.Type())
	return 0
}

// bound replaces every concatenation below the statements.
func bound(statements []ast.Stmt) { rewrite(reflect.ValueOf(statements)) }

func rewrite(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		for n := range v.Len() {
			rewrite(v.Index(n))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			rewrite(v.Elem())
		}
	case reflect.Struct:
		for n := range v.NumField() {
			if v.Type().Field(n).IsExported() {
				rewrite(v.Field(n))
			}
		}
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		rewrite(v.Elem())
		if op, ok := v.Interface().(*ast.StringConcatOpExpr); ok && v.CanSet() {
			v.Set(reflect.ValueOf(concatCall(op)))
		}
	}
}

func concatCall(op *ast.StringConcatOpExpr) ast.Expr {
	name := &ast.IdentExpr{Value: concatName}
	call := &ast.FuncCallExpr{Func: name, Args: []ast.Expr{op.Lhs, op.Rhs}, AdjustRet: true}
	for _, node := range []ast.PositionHolder{name, call} {
		node.SetLine(op.Line())
		node.SetLastLine(op.LastLine())
	}
	return call
}
