package luabox

import (
	"strings"

	"github.com/yuin/gopher-lua"
)

// boundText wraps every function that makes or searches strings.
func (b *Box) boundText(global *lua.LTable) {
	texts, _ := global.RawGetString(lua.StringLibName).(*lua.LTable)
	tables, _ := global.RawGetString(lua.TabLibName).(*lua.LTable)
	texts.RawSetString("dump", lua.LNil)
	b.setPatterns(texts)
	for _, name := range []string{"lower", "upper", "reverse"} {
		b.wrap(texts, name, func(l *lua.LState) { b.limit.made(len(l.CheckString(1))) })
	}
	b.wrap(texts, "rep", b.checkRepeat)
	b.wrap(texts, "format", b.checkFormat)
	tables.RawSetString("concat", b.State.NewFunction(b.joinList))
}

// wrap runs a check before a function of a library.
func (b *Box) wrap(table *lua.LTable, name string, check func(l *lua.LState)) {
	original, ok := table.RawGetString(name).(*lua.LFunction)
	if !ok {
		return
	}
	wrapped := b.State.NewFunction(func(l *lua.LState) int {
		check(l)
		return original.GFunction(l)
	})
	wrapped.Upvalues = original.Upvalues
	table.RawSetString(name, wrapped)
}

// grow adds to the length of a string that is being built.
func (b *Box) grow(l *lua.LState, who string, total *int, more int) {
	if *total += more; *total > b.limits.Text {
		l.RaiseError("%s: the text would be too long, more than %d bytes", who, b.limits.Text)
	}
}

func (b *Box) checkRepeat(l *lua.LState) {
	text, n := len(l.CheckString(1)), l.CheckInt(2)
	if n > 0 && n > b.limits.Text/max(1, text) {
		l.RaiseError("string.rep: the text would be too long, more than %d bytes", b.limits.Text)
	}
	b.limit.made(text * max(0, n))
}

// checkFormat adds up the pattern, all strings and all widths. An index such as
// %[1]s, which would use one string many times, does not exist in Lua.
func (b *Box) checkFormat(l *lua.LState) {
	pattern := l.CheckString(1)
	total := 0
	b.grow(l, "string.format", &total, len(pattern))
	for n := 2; n <= l.GetTop(); n++ {
		switch v := l.Get(n).(type) {
		case lua.LString:
			// %q writes one byte as at most four.
			b.grow(l, "string.format", &total, 4*len(v))
		case lua.LNumber:
			// %f writes 1e308 in full.
			b.grow(l, "string.format", &total, 320)
		}
	}
	for at := strings.IndexByte(pattern, '%'); at >= 0; at = strings.IndexByte(pattern, '%') {
		pattern = pattern[at+1:]
		width := len(pattern) - len(strings.TrimLeft(pattern, "-+ #.0123456789"))
		for number := range strings.FieldsFuncSeq(pattern[:width], func(c rune) bool { return c < '0' || c > '9' }) {
			if len(number) > 3 {
				l.RaiseError("string.format: a width of more than 3 digits makes the text too long")
			}
			b.grow(l, "string.format", &total, 1000)
		}
		if pattern = pattern[width:]; pattern != "" && (pattern[0] == '[' || pattern[0] == '*') {
			l.RaiseError("string.format: %%%c is not a Lua format", pattern[0])
		}
		if pattern != "" {
			pattern = pattern[1:]
		}
	}
	b.limit.made(total)
}

// joinList is table.concat.
func (b *Box) joinList(l *lua.LState) int {
	list, between := l.CheckTable(1), l.OptString(2, "")
	first, last := max(l.OptInt(3, 1), 1), min(l.OptInt(4, list.Len()), list.Len())
	total := 0
	for n := first; n <= last; n++ {
		value := list.RawGetInt(n)
		if !lua.LVCanConvToString(value) {
			l.RaiseError("invalid value (%s) at index %d in table for concat", value.Type().String(), n)
		}
		b.grow(l, "table.concat", &total, len(lua.LVAsString(value))+len(between))
	}
	var out strings.Builder
	for n := first; n <= last; n++ {
		if n > first {
			out.WriteString(between)
		}
		out.WriteString(lua.LVAsString(list.RawGetInt(n)))
	}
	b.limit.made(out.Len())
	l.Push(lua.LString(out.String()))
	return 1
}

// join is the operator `..`, of two or more operands, from the right.
func (b *Box) join(l *lua.LState) int {
	at := l.GetTop()
	value := l.Get(at)
	for at--; at > 0; {
		first, total := at+1, 0
		if lua.LVCanConvToString(value) {
			b.grow(l, "..", &total, len(lua.LVAsString(value)))
			for first > 1 && lua.LVCanConvToString(l.Get(first-1)) {
				first--
				b.grow(l, "..", &total, len(lua.LVAsString(l.Get(first))))
			}
		}
		if first <= at {
			var out strings.Builder
			out.Grow(total)
			for n := first; n <= at; n++ {
				out.WriteString(lua.LVAsString(l.Get(n)))
			}
			out.WriteString(lua.LVAsString(value))
			b.limit.made(total)
			value, at = lua.LString(out.String()), first-1
			continue
		}
		value = b.joinTwo(l, l.Get(at), value)
		at--
	}
	l.Push(value)
	return 1
}

// joinTwo joins operands that are not both strings: a metatable may define how.
func (b *Box) joinTwo(l *lua.LState, left, right lua.LValue) lua.LValue {
	for _, side := range []lua.LValue{left, right} {
		if method, ok := l.GetMetaField(side, "__concat").(*lua.LFunction); ok {
			l.Push(method)
			l.Push(left)
			l.Push(right)
			l.Call(2, 1)
			value := l.Get(-1)
			l.Pop(1)
			return value
		}
	}
	if lua.LVCanConvToString(left) {
		left = right
	}
	l.RaiseError("attempt to concatenate a %s value", left.Type())
	return lua.LNil
}
