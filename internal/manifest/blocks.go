package manifest

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	yamlv2 "go.yaml.in/yaml/v2"
)

// blocks reads a document as tools write them: nested blocks, texts in one line or in
// several, block scalars that begin with a bar. It gives what the library gives, and
// takes a fifth of the time; false leaves everything else to the library, which also has the
// words for what is wrong.
func blocks(text []byte) (any, bool) {
	if !ordinary(text) {
		return nil, false
	}
	r := &blockReader{text: string(text)}
	column, ok := r.next()
	if !ok || column < 0 {
		return nil, ok
	}
	value, ok := r.block(column, 0)
	return value, ok && r.at == len(r.text)
}

// ordinary reports whether a text has only lines that end in a line feed, and no character
// that YAML counts as a line end, a mark of order or unprintable.
func ordinary(text []byte) bool {
	if len(text) == 0 || text[len(text)-1] != '\n' {
		return false
	}
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError || r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r > 0xfffd && r < 0x10000 {
			return false
		}
		i += size
	}
	return true
}

// maxDepth is how deep blocks may be nested in each other; the library has its own limit.
const maxDepth = 200

// blockReader reads blocks. Between them it is at the first character of a line's content, or
// at the end of the text.
type blockReader struct {
	text string
	at   int
	// column is that of the character at which the reader is; -1 at the end.
	column int
}

// next goes to the next line with content, from the beginning of a line.
func (r *blockReader) next() (column int, ok bool) {
	for r.at < len(r.text) {
		start := r.at
		for r.text[r.at] == ' ' {
			r.at++
		}
		switch r.text[r.at] {
		case '\t':
			return 0, false
		case '\n':
			r.at++
			continue
		case '#':
			r.line()
			continue
		}
		r.column = r.at - start
		// What begins or ends a document is the library's.
		return r.column, r.column > 0 || !strings.HasPrefix(r.text[r.at:], "---") && !strings.HasPrefix(r.text[r.at:], "...")
	}
	r.column = -1
	return -1, true
}

// line returns what is left of a line, and goes to the next one.
func (r *blockReader) line() string {
	rest := r.text[r.at:]
	end := strings.IndexByte(rest, '\n')
	r.at += end + 1
	return rest[:end]
}

// block reads the block that begins here, at a column.
func (r *blockReader) block(column, depth int) (any, bool) {
	if depth > maxDepth {
		return nil, false
	}
	if r.item() {
		return r.list(column, depth)
	}
	return r.mapping(column, depth)
}

// item reports whether an item of a list begins here.
func (r *blockReader) item() bool {
	return r.text[r.at] == '-' && (r.text[r.at+1] == ' ' || r.text[r.at+1] == '\n')
}

// list reads the items at a column.
func (r *blockReader) list(column, depth int) (any, bool) {
	list := []any{}
	for r.column == column && r.item() {
		r.at++
		inner := column + 1
		for r.text[r.at] == ' ' {
			r.at++
			inner++
		}
		var value any
		ok := true
		if _, _, named := r.key(); named || r.item() {
			r.column = inner
			value, ok = r.block(inner, depth+1)
		} else {
			value, ok = r.value(column, false, depth)
		}
		if !ok {
			return nil, false
		}
		list = append(list, value)
	}
	return list, r.column < column || r.column == column && !r.item()
}

// mapping reads the keys at a column.
func (r *blockReader) mapping(column, depth int) (any, bool) {
	values := map[string]any{}
	for r.column == column {
		name, size, ok := r.key()
		if !ok {
			return nil, false
		}
		if _, twice := values[name]; twice {
			return nil, false
		}
		r.at += size
		for r.text[r.at] == ' ' {
			r.at++
		}
		if values[name], ok = r.value(column, true, depth); !ok {
			return nil, false
		}
	}
	return values, r.column < column
}

// longestKey is how long a key may be: YAML has a limit of 1,024.
const longestKey = 1000

// key returns the key that begins here, if one does, and how long it is with its colon.
func (r *blockReader) key() (name string, size int, ok bool) {
	rest := r.text[r.at:]
	end := 0
	switch quote := rest[0]; {
	case quote == '"' || quote == '\'':
		for end = 1; rest[end] != quote; end++ {
			if c := rest[end]; c == '\\' || c < ' ' {
				return "", 0, false
			}
		}
		name = rest[1:end]
		end++
	case starts(quote):
		for inKey(rest[end]) {
			end++
		}
		name = rest[:end]
		if _, special := words[name]; special {
			return "", 0, false
		}
	default:
		return "", 0, false
	}
	if end > longestKey || rest[end] != ':' || rest[end+1] != ' ' && rest[end+1] != '\n' {
		return "", 0, false
	}
	return name, end + 1, true
}

func starts(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$' }

func inKey(c byte) bool {
	return starts(c) || '0' <= c && c <= '9' || c == '.' || c == '/' || c == '-'
}

// value reads what stands after a key or a dash at a column, behind the blanks. A list may
// begin at the column of its key.
func (r *blockReader) value(column int, ofKey bool, depth int) (any, bool) {
	switch r.text[r.at] {
	case '\n', '#':
		if r.text[r.at] == '#' && r.text[r.at-1] != ' ' {
			return nil, false
		}
		r.line()
		inner, ok := r.next()
		switch {
		case !ok:
			return nil, false
		case inner > column && strings.IndexByte("{[\"'", r.text[r.at]) >= 0:
			if _, _, named := r.key(); !named {
				return r.value(column, ofKey, depth)
			}
			return r.mapping(inner, depth+1)
		case inner > column || ofKey && inner == column && r.item():
			return r.block(inner, depth+1)
		}
		return nil, true
	case '|':
		return r.literal(column)
	case '"', '\'':
		return r.quoted(column)
	case '[', '{':
		return r.flow()
	}
	return r.plain(column)
}

// end goes to the next line with content behind a value, of which the rest of its line has
// to be a comment.
func (r *blockReader) end() bool {
	rest := r.line()
	if blank := strings.TrimLeft(rest, " "); blank != "" && (blank[0] != '#' || len(blank) == len(rest)) {
		return false
	}
	_, ok := r.next()
	return ok
}

// quoted reads a text in quotes, in one line or in several, of which the others are further
// to the right than a column. Of several lines each end is a blank, and n ends are n-1.
func (r *blockReader) quoted(column int) (any, bool) {
	quote := r.text[r.at]
	start := r.at
	r.at++
	var out strings.Builder
	from, escaped := r.at, false
	for {
		switch c := r.text[r.at]; {
		case c == '\\' && quote == '"':
			r.at++
			if escaped = true; r.text[r.at] == '\n' {
				return nil, false
			}
			r.at++
		case c == quote && quote == '\'' && r.text[r.at+1] == quote:
			r.at++
			out.WriteString(r.text[from:r.at])
			r.at++
			from = r.at
		case c == quote:
			text := r.text[from:r.at]
			r.at++
			if out.Len() > 0 {
				out.WriteString(text)
				text = out.String()
			}
			if !escaped {
				return text, r.end()
			}
			value, ok := library(r.text[start:r.at])
			return value, ok && r.end()
		case c == '\t':
			return nil, false
		case c == '\n':
			out.WriteString(strings.TrimRight(r.text[from:r.at], " "))
			ends, begins := 0, 0
			for ; r.text[r.at] == '\n' || r.text[r.at] == ' '; r.at++ {
				if r.text[r.at] == '\n' {
					ends, begins = ends+1, r.at+1
					if r.at+1 == len(r.text) {
						return nil, false
					}
				}
			}
			if r.at-begins <= column || r.text[r.at] == '\t' {
				return nil, false
			}
			if from = r.at; ends > 1 {
				out.WriteString(strings.Repeat("\n", ends-1))
			} else {
				out.WriteByte(' ')
			}
		default:
			r.at++
		}
	}
}

// flow reads a list or map in brackets that ends in its line.
func (r *blockReader) flow() (any, bool) {
	list := r.text[r.at] == '['
	var value any
	switch text := r.line(); {
	case text == "[]":
		value = []any{}
	case text == "{}":
		value = map[string]any{}
	default:
		var ok bool
		if value, ok = library(text); !ok {
			return nil, false
		}
	}
	// A key in brackets is none of JSON's.
	if _, ok := value.([]any); ok != list {
		return nil, false
	}
	_, ok := r.next()
	return value, ok
}

// library reads a value as the library does. It is given as an item: of a document the
// library reads what comes first, and nothing behind it.
func library(text string) (any, bool) {
	var item []any
	if yamlv2.UnmarshalStrict([]byte("- "+text), &item) != nil || len(item) != 1 {
		return nil, false
	}
	return plain(item[0])
}

// plain reads a value without quotes, with the lines that go on with it: those that are
// further to the right than a column.
func (r *blockReader) plain(column int) (any, bool) {
	if strings.IndexByte("?,[]{}#&*!|>'\"%@`<", r.text[r.at]) >= 0 || strings.IndexByte("-:", r.text[r.at]) >= 0 && (r.text[r.at+1] == ' ' || r.text[r.at+1] == '\n') {
		return nil, false
	}
	var joined strings.Builder
	first, last, lines := "", false, 0
	for {
		text := r.line()
		if at := strings.Index(text, " #"); at >= 0 {
			text, last = text[:at], true
		}
		text = strings.TrimRight(text, " ")
		if strings.IndexByte(text, '\t') >= 0 || strings.Contains(text, ": ") || strings.HasSuffix(text, ":") {
			return nil, false
		}
		if lines++; lines == 1 {
			first = text
		} else {
			joined.WriteString(text)
		}
		before := r.at
		inner, ok := r.next()
		if !ok {
			return nil, false
		}
		if inner <= column {
			break
		}
		between := r.text[before : r.at-inner]
		if last || strings.IndexByte(between, '#') >= 0 {
			return nil, false
		}
		if lines == 1 {
			joined.WriteString(first)
		}
		if empty := strings.Count(between, "\n"); empty > 0 {
			joined.WriteString(strings.Repeat("\n", empty))
		} else {
			joined.WriteByte(' ')
		}
	}
	if lines > 1 {
		first = joined.String()
	}
	return scalar(first)
}

// words are the plain texts in letters that are no text in YAML 1.1.
var words = func() map[string]any {
	all := map[string]any{}
	for word, value := range map[string]any{
		"y": true, "yes": true, "on": true, "true": true, "n": false, "no": false, "off": false, "false": false, "null": nil,
	} {
		for _, spelled := range []string{word, strings.ToUpper(word), strings.ToUpper(word[:1]) + word[1:]} {
			all[spelled] = value
		}
	}
	return all
}()

// scalar is what a plain text of one line is.
func scalar(text string) (any, bool) {
	switch c := text[0]; {
	case starts(c):
		if value, special := words[text]; special {
			return value, true
		}
		return text, true
	case '0' <= c && c <= '9' || strings.IndexByte("+-.~=:", c) >= 0:
		if whole(text) {
			return json.Number(text), true
		}
		if strings.IndexByte(text, '\n') >= 0 {
			return nil, false
		}
		return library(text)
	}
	return text, true
}

// whole reports whether a text is a small number of decimal digits as JSON has them.
func whole(text string) bool {
	if len(text) > 18 || len(text) > 1 && text[0] == '0' {
		return false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// literal reads a block scalar that begins with a bar, in a block at a column.
func (r *blockReader) literal(column int) (any, bool) {
	header := r.line()
	if header != "|" && header != "|-" && header != "|+" {
		return nil, false
	}
	indent, empty := -1, 0
	var out strings.Builder
	for {
		start := r.at
		if start == len(r.text) {
			r.column = -1
			break
		}
		for r.text[r.at] == ' ' && (indent < 0 || r.at-start < indent) {
			r.at++
		}
		blanks := r.at - start
		switch c := r.text[r.at]; {
		case c == '\n':
			if indent < 0 && blanks > 0 {
				return nil, false // it may decide how far the text is indented
			}
			r.at++
			empty++
			continue
		case indent < 0:
			if blanks <= column || c == '\t' {
				return nil, false
			}
			indent = blanks
		case blanks < indent && c == '\t':
			return nil, false
		}
		if blanks < indent {
			r.at = start
			if _, ok := r.next(); !ok || r.column > column {
				return nil, false
			}
			break
		}
		for ; empty > 0; empty-- {
			out.WriteByte('\n')
		}
		text := r.line()
		out.WriteString(text)
		// The line's end is written before the next line, or by what the header says.
		empty = 1
	}
	if indent < 0 {
		return nil, false
	}
	switch header {
	case "|":
		out.WriteByte('\n')
	case "|+":
		out.WriteString(strings.Repeat("\n", empty))
	}
	return out.String(), true
}
