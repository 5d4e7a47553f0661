package luabox

import (
	"strings"
	"time"

	"github.com/yuin/gopher-lua"
)

// maxPattern is the longest pattern, which also bounds the depth of a match.
// maxCaptures is Lua's own limit.
const (
	maxPattern  = 1024
	maxCaptures = 32
)

// special are the characters with a meaning in a pattern.
const special = "^$*+?.([%-"

// Lengths of unfinished and position captures.
const (
	open     = -1
	position = -2
)

// capture is a part of the text captured by a pattern.
type capture struct{ from, length int }

// matcher searches for one pattern in one text. It counts the cost while it searches:
// a step for each compared character and for each position in the pattern that is
// reached. A pattern that backtracks too much is rejected on the text that causes it,
// and on no other.
type matcher struct {
	box           *Box
	lua           *lua.LState
	name          string
	text, pattern string
	anchored      bool
	captures      [maxCaptures]capture
	level, steps  int
}

// match is the position of a match, with its captures.
type match struct {
	from, to int
	captures []capture
}

// settleEvery is how many steps a matcher takes before it adds them to the box's
// total, and clockEvery how many between checks of the time.
const (
	settleEvery = 1 << 10
	clockEvery  = 1 << 16
)

// step counts steps.
func (m *matcher) step(n int) {
	if m.steps += n; m.steps >= settleEvery {
		m.settle()
	}
}

// settle adds the steps to the box's total, and ends a search that is too expensive.
func (m *matcher) settle() {
	limit := m.box.limit
	if limit == nil {
		return
	}
	limit.patterns += m.steps
	m.steps = 0
	if most := m.box.limits.Pattern; most > 0 && limit.patterns > most {
		m.lua.RaiseError("string.%s: the patterns of this script are too costly for their texts, more than %d steps", m.name, most)
	}
	if limit.patterns < limit.clock {
		return
	}
	limit.clock = limit.patterns + clockEvery
	if time.Now().After(limit.until) && limit.err == nil {
		limit.end(ErrTime)
	}
	if limit.err != nil {
		m.lua.RaiseError("%s", limit.err.Error())
	}
}

func (b *Box) newMatcher(l *lua.LState, name string) *matcher {
	m := &matcher{box: b, lua: l, name: name, text: l.CheckString(1), pattern: l.CheckString(2)}
	if len(m.pattern) > maxPattern {
		l.RaiseError("string.%s: a pattern of %d bytes; %d are allowed", name, len(m.pattern), maxPattern)
	}
	m.pattern, m.anchored = strings.CutPrefix(m.pattern, "^")
	return m
}

// find searches for the first match at or after a position.
func (m *matcher) find(from int) (match, bool) {
	defer m.settle()
	for at := from; at <= len(m.text); at++ {
		m.level = 0
		if to := m.match(at, 0); to >= 0 {
			return match{at, to, m.captures[:m.level]}, true
		}
		if m.anchored {
			break
		}
	}
	return match{}, false
}

// match matches the rest of the pattern, from p on, at a position of the text. It
// returns where the match ends, or -1.
func (m *matcher) match(at, p int) int {
	for p < len(m.pattern) {
		m.step(1)
		switch c := m.pattern[p]; {
		case c == '(' && p+1 < len(m.pattern) && m.pattern[p+1] == ')':
			return m.keep(at, p+2, position)
		case c == '(':
			return m.keep(at, p+1, open)
		case c == ')':
			return m.shut(at, p+1)
		case c == '$' && p+1 == len(m.pattern):
			if at != len(m.text) {
				return -1
			}
			return at
		case c == '%' && p+1 < len(m.pattern) && m.pattern[p+1] == 'b':
			if at = m.balanced(at, p+2); at < 0 {
				return -1
			}
			p += 4
			continue
		case c == '%' && p+1 < len(m.pattern) && m.pattern[p+1] == 'f':
			end := m.frontier(at, p+2)
			if end < 0 {
				return -1
			}
			p = end
			continue
		case c == '%' && p+1 < len(m.pattern) && digit(m.pattern[p+1]):
			if at = m.again(at, m.pattern[p+1]); at < 0 {
				return -1
			}
			p += 2
			continue
		}
		end := m.classEnd(p)
		m.step((end - p) / 4)
		var repeat byte
		if end < len(m.pattern) {
			repeat = m.pattern[end]
		}
		switch repeat {
		case '?':
			if m.single(at, p, end) {
				if to := m.match(at+1, end+1); to >= 0 {
					return to
				}
			}
			p = end + 1
		case '*', '+', '-':
			return m.repeated(at, p, end, repeat)
		default:
			if !m.single(at, p, end) {
				return -1
			}
			at, p = at+1, end
		}
	}
	return at
}

// repeated matches the class at p as often as its quantifier says, then the rest.
func (m *matcher) repeated(at, p, end int, sign byte) int {
	if sign == '-' {
		for {
			if to := m.match(at, end+1); to >= 0 {
				return to
			}
			if !m.single(at, p, end) {
				return -1
			}
			at++
		}
	}
	count := 0
	for m.single(at+count, p, end) {
		count++
	}
	least := 0
	if sign == '+' {
		least = 1
	}
	for ; count >= least; count-- {
		if to := m.match(at+count, end+1); to >= 0 {
			return to
		}
	}
	return -1
}

// keep begins a capture and matches the rest; shut ends the last open one.
func (m *matcher) keep(at, p, length int) int {
	if m.level == maxCaptures {
		m.malformed("too many captures")
	}
	m.captures[m.level] = capture{at, length}
	m.level++
	to := m.match(at, p)
	if to < 0 {
		m.level--
	}
	return to
}

func (m *matcher) shut(at, p int) int {
	for n := m.level - 1; n >= 0; n-- {
		if m.captures[n].length != open {
			continue
		}
		m.captures[n].length = at - m.captures[n].from
		to := m.match(at, p)
		if to < 0 {
			m.captures[n].length = open
		}
		return to
	}
	m.malformed("a ) without its (")
	return -1
}

// again matches the text of a capture: %1.
func (m *matcher) again(at int, number byte) int {
	n := int(number) - '1'
	if n < 0 || n >= m.level || m.captures[n].length < 0 {
		m.malformed("no such capture")
	}
	kept := m.text[m.captures[n].from:][:m.captures[n].length]
	m.step(len(kept))
	if !strings.HasPrefix(m.text[at:], kept) {
		return -1
	}
	return at + len(kept)
}

// balanced matches %bxy.
func (m *matcher) balanced(at, p int) int {
	if p+1 >= len(m.pattern) {
		m.malformed("%b wants two characters")
	}
	begin, end := m.pattern[p], m.pattern[p+1]
	if at >= len(m.text) || m.text[at] != begin {
		return -1
	}
	for depth, n := 1, at+1; n < len(m.text); n++ {
		m.step(1)
		switch m.text[n] {
		case end:
			if depth--; depth == 0 {
				return n + 1
			}
		case begin:
			depth++
		}
	}
	return -1
}

// frontier matches %f[set] without consuming a character, and returns where the set
// ends in the pattern.
func (m *matcher) frontier(at, p int) int {
	if p >= len(m.pattern) || m.pattern[p] != '[' {
		m.malformed("%f wants a set in brackets")
	}
	end := m.classEnd(p)
	var before, here byte
	if at > 0 {
		before = m.text[at-1]
	}
	if at < len(m.text) {
		here = m.text[at]
	}
	if m.inSet(before, p, end) || !m.inSet(here, p, end) {
		return -1
	}
	return end
}

func (m *matcher) malformed(why string) {
	m.lua.RaiseError("string.%s: malformed pattern: %s", m.name, why)
}

// classEnd is the end of the character or class that begins at p.
func (m *matcher) classEnd(p int) int {
	c := m.pattern[p]
	p++
	switch {
	case c == '%' && p == len(m.pattern):
		m.malformed("it ends with %")
	case c == '%':
		return p + 1
	case c == '[':
		if p < len(m.pattern) && m.pattern[p] == '^' {
			p++
		}
		for first := true; ; first = false {
			if p >= len(m.pattern) {
				m.malformed("a [ without its ]")
			}
			c := m.pattern[p]
			p++
			if c == ']' && !first {
				return p
			}
			if c == '%' {
				p++
			}
		}
	}
	return p
}

// single reports whether the class from p to end matches the character at a position.
func (m *matcher) single(at, p, end int) bool {
	m.step(1)
	if at >= len(m.text) {
		return false
	}
	switch c := m.text[at]; m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pattern[p+1])
	case '[':
		return m.inSet(c, p, end)
	default:
		return m.pattern[p] == c
	}
}

// inSet reports whether a character is in [set].
func (m *matcher) inSet(c byte, p, end int) bool {
	set := m.pattern[p+1 : end-1]
	m.step(len(set) / 4)
	set, none := strings.CutPrefix(set, "^")
	for n := 0; n < len(set); n++ {
		switch {
		case set[n] == '%' && n+1 < len(set):
			n++
			if inClass(c, set[n]) {
				return !none
			}
		case n+2 < len(set) && set[n+1] == '-':
			if set[n] <= c && c <= set[n+2] {
				return !none
			}
			n += 2
		case set[n] == c:
			return !none
		}
	}
	return none
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// inClass reports whether a character belongs to the class of a letter; a letter
// without a class stands for itself.
func inClass(c, class byte) bool {
	var in bool
	if !letter(class) {
		return class == c
	}
	switch class | 0x20 {
	case 'a':
		in = letter(c)
	case 'c':
		in = c < 0x20 || c == 0x7f
	case 'd':
		in = digit(c)
	case 'l':
		in = c >= 'a' && c <= 'z'
	case 'p':
		in = c > 0x20 && c < 0x7f && !letter(c) && !digit(c)
	case 's':
		in = c == ' ' || c >= '\t' && c <= '\r'
	case 'u':
		in = c >= 'A' && c <= 'Z'
	case 'w':
		in = letter(c) || digit(c)
	case 'x':
		in = digit(c) || c|0x20 >= 'a' && c|0x20 <= 'f'
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	return in != (class&0x20 == 0)
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
