package luabox

import (
	"strings"

	"github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/pm"
)

// maxPattern is the longest pattern. matchBytes is about what one match costs:
// all matches of a text are found at once.
const (
	maxPattern = 1024
	matchBytes = 100
)

// checkPattern refuses what could go back over the text for too long, by the
// number of the pattern's open ends.
func (b *Box) checkPattern(l *lua.LState, name string) {
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
	if len(pattern) > maxPattern || len(text) > b.limits.PatternText || b.limits.Pattern > 0 && cost > b.limits.Pattern {
		l.RaiseError("string.%s: the pattern is too costly for a text of %d bytes", name, len(text))
	}
	if name != "find" && name != "match" {
		b.limit.made(matchBytes * len(text))
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

// gsub is string.gsub with a text that is made piece by piece.
func (b *Box) gsub(l *lua.LState) int {
	b.checkPattern(l, "gsub")
	l.CheckTypes(3, lua.LTString, lua.LTTable, lua.LTFunction)
	text, by := l.CheckString(1), l.Get(3)
	found, err := pm.Find(l.CheckString(2), []byte(text), 0, l.OptInt(4, -1))
	if err != nil {
		l.RaiseError("%s", err.Error())
	}
	var out strings.Builder
	total, done := 0, 0
	write := func(piece string) {
		b.grow(l, "string.gsub", &total, len(piece))
		out.WriteString(piece)
	}
	for _, m := range found {
		write(text[done:m.Capture(0)])
		done = m.Capture(1)
		whole := text[m.Capture(0):done]
		switch by := by.(type) {
		case lua.LString:
			fill(l, write, string(by), text, m)
		case *lua.LTable:
			write(instead(l, l.GetTable(by, captured(text, m, 1)), whole))
		case *lua.LFunction:
			l.Push(by)
			given := max(1, m.CaptureLength()/2-1)
			for n := 1; n <= given; n++ {
				l.Push(captured(text, m, n))
			}
			l.Call(given, 1)
			value := l.Get(-1)
			l.Pop(1)
			write(instead(l, value, whole))
		}
	}
	write(text[done:])
	b.limit.made(total)
	l.Push(lua.LString(out.String()))
	l.Push(lua.LNumber(len(found)))
	return 2
}

// fill writes a replacement with its %0 … %9.
func fill(l *lua.LState, write func(string), by, text string, m *pm.MatchData) {
	for {
		at := strings.IndexByte(by, '%')
		if at < 0 || at == len(by)-1 {
			write(by)
			return
		}
		write(by[:at])
		switch c := by[at+1]; {
		case c == '0':
			write(text[m.Capture(0):m.Capture(1)])
		case c >= '1' && c <= '9':
			if n := int(c - '0'); n > 1 && n > m.CaptureLength()/2-1 {
				l.RaiseError("invalid capture index")
			}
			write(lua.LVAsString(captured(text, m, int(c-'0'))))
		case c == '%':
			write("%")
		default:
			write(by[at : at+2])
		}
		by = by[at+2:]
	}
}

// captured is a capture of a match, the whole match where it has none.
func captured(text string, m *pm.MatchData, n int) lua.LValue {
	at := 2 * n
	if at >= m.CaptureLength() {
		at = 0
	}
	if m.IsPosCapture(at) {
		return lua.LNumber(m.Capture(at))
	}
	return lua.LString(text[m.Capture(at):m.Capture(at+1)])
}

// instead is what a table or a function gives for a match: false and nil keep
// it.
func instead(l *lua.LState, value lua.LValue, whole string) string {
	if lua.LVIsFalse(value) {
		return whole
	}
	if !lua.LVCanConvToString(value) {
		l.RaiseError("invalid replacement value (a %s)", value.Type().String())
	}
	return lua.LVAsString(value)
}
