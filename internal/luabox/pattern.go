package luabox

import (
	"strings"

	"github.com/yuin/gopher-lua"
)

// setPatterns sets the functions of the string library that take a pattern.
func (b *Box) setPatterns(texts *lua.LTable) {
	for name, function := range map[string]lua.LGFunction{"find": b.find, "match": b.matchFirst, "gmatch": b.gmatch, "gsub": b.gsub} {
		texts.RawSetString(name, b.State.NewFunction(function))
	}
	texts.RawSetString("gfind", texts.RawGetString("gmatch"))
}

// start is the optional third argument of find and match: where to begin, counted
// from the end if negative.
func start(l *lua.LState, text string) int {
	at := l.OptInt(3, 1)
	if at < 0 {
		at += len(text) + 1
	}
	return min(max(at-1, 0), len(text))
}

func (b *Box) find(l *lua.LState) int {
	text, plain := l.CheckString(1), l.CheckString(2)
	from := start(l, text)
	if lua.LVAsBool(l.Get(4)) || !strings.ContainsAny(plain, special) {
		at := strings.Index(text[from:], plain)
		if at < 0 {
			l.Push(lua.LNil)
			return 1
		}
		l.Push(lua.LNumber(from + at + 1))
		l.Push(lua.LNumber(from + at + len(plain)))
		return 2
	}
	m := b.newMatcher(l, "find")
	found, ok := m.find(from)
	if !ok {
		l.Push(lua.LNil)
		return 1
	}
	l.Push(lua.LNumber(found.from + 1))
	l.Push(lua.LNumber(found.to))
	for n := range found.captures {
		l.Push(m.captured(found, n+1))
	}
	return 2 + len(found.captures)
}

func (b *Box) matchFirst(l *lua.LState) int {
	m := b.newMatcher(l, "match")
	found, ok := m.find(start(l, m.text))
	if !ok {
		l.Push(lua.LNil)
		return 1
	}
	return m.push(found)
}

// push pushes the captures, or the whole match if there are none.
func (m *matcher) push(found match) int {
	given := max(1, len(found.captures))
	for n := 1; n <= given; n++ {
		m.lua.Push(m.captured(found, n))
	}
	return given
}

func (b *Box) gmatch(l *lua.LState) int {
	m := b.newMatcher(l, "gmatch")
	at := 0
	l.Push(l.NewFunction(func(l *lua.LState) int {
		m.lua = l
		found, ok := m.next(&at)
		if !ok {
			return 0
		}
		return m.push(found)
	}))
	return 1
}

// next finds the match after the last one and sets where to continue. After an empty
// match it skips one character, so that the search ends.
func (m *matcher) next(at *int) (match, bool) {
	if *at > len(m.text) || m.anchored && *at > 0 {
		return match{}, false
	}
	found, ok := m.find(*at)
	if ok {
		*at = max(found.to, found.from+1)
	}
	return found, ok
}

// gsub is string.gsub; its result is built piece by piece.
func (b *Box) gsub(l *lua.LState) int {
	m := b.newMatcher(l, "gsub")
	l.CheckTypes(3, lua.LTString, lua.LTTable, lua.LTFunction)
	by, most := l.Get(3), l.OptInt(4, -1)
	var out strings.Builder
	total, done, count, at := 0, 0, 0, 0
	write := func(piece string) {
		b.grow(l, "string.gsub", &total, len(piece))
		out.WriteString(piece)
	}
	for ; most < 0 || count < most; count++ {
		found, ok := m.next(&at)
		if !ok {
			break
		}
		write(m.text[done:found.from])
		done = found.to
		whole := m.text[found.from:done]
		switch by := by.(type) {
		case lua.LString:
			m.fill(write, string(by), found)
		case *lua.LTable:
			write(instead(l, l.GetTable(by, m.captured(found, 1)), whole))
		case *lua.LFunction:
			l.Push(by)
			l.Call(m.push(found), 1)
			value := l.Get(-1)
			l.Pop(1)
			write(instead(l, value, whole))
		}
	}
	write(m.text[done:])
	b.limit.made(total)
	l.Push(lua.LString(out.String()))
	l.Push(lua.LNumber(count))
	return 2
}

// fill writes a replacement with its %0 … %9.
func (m *matcher) fill(write func(string), by string, found match) {
	for {
		at := strings.IndexByte(by, '%')
		if at < 0 || at == len(by)-1 {
			write(by)
			return
		}
		write(by[:at])
		switch c := by[at+1]; {
		case c == '0':
			write(m.text[found.from:found.to])
		case digit(c):
			if n := int(c - '0'); n > 1 && n > len(found.captures) {
				m.lua.RaiseError("invalid capture index")
			}
			write(lua.LVAsString(m.captured(found, int(c-'0'))))
		case c == '%':
			write("%")
		default:
			write(by[at : at+2])
		}
		by = by[at+2:]
	}
}

// captured is a capture of a match, or the whole match if it has none.
func (m *matcher) captured(found match, n int) lua.LValue {
	if n > len(found.captures) {
		return lua.LString(m.text[found.from:found.to])
	}
	c := found.captures[n-1]
	switch c.length {
	case open:
		m.malformed("a ( without its )")
	case position:
		return lua.LNumber(c.from + 1)
	}
	return lua.LString(m.text[c.from:][:c.length])
}

// instead is the replacement that a table or a function gives for a match: false and
// nil keep the match.
func instead(l *lua.LState, value lua.LValue, whole string) string {
	if lua.LVIsFalse(value) {
		return whole
	}
	if !lua.LVCanConvToString(value) {
		l.RaiseError("invalid replacement value (a %s)", value.Type().String())
	}
	return lua.LVAsString(value)
}
