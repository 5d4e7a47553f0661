package yamltext

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Marshal returns the YAML of what JSON decodes to: maps, lists, texts, json.Number,
// booleans and nil.
func Marshal(value any) ([]byte, error) {
	w := &writer{}
	if err := w.write(value, 0, false); err != nil {
		return nil, err
	}
	return w.out, nil
}

type writer struct{ out []byte }

const blanks = "                                        "

// write writes a value whose lines begin at a column; inline tells that the first one has
// begun.
func (w *writer) write(value any, column int, inline bool) error {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !inline {
				w.indent(column)
			}
			inline = false
			w.out = append(append(w.out, key(name)...), ':')
			if err := w.after(v[name], column); err != nil {
				return err
			}
		}
		return nil
	case []any:
		if len(v) == 0 {
			break
		}
		for _, item := range v {
			if !inline {
				w.indent(column)
			}
			inline = false
			w.out = append(w.out, "- "...)
			if err := w.write(item, column+2, true); err != nil {
				return err
			}
		}
		return nil
	}
	text, err := scalar(value, column)
	w.out = append(append(w.out, text...), '\n')
	return err
}

// after writes the value of a key at a column.
func (w *writer) after(value any, column int) error {
	switch v := value.(type) {
	case map[string]any:
		if len(v) > 0 {
			w.out = append(w.out, '\n')
			return w.write(v, column+2, false)
		}
	case []any:
		if len(v) > 0 {
			w.out = append(w.out, '\n')
			return w.write(v, column, false)
		}
	}
	w.out = append(w.out, ' ')
	return w.write(value, column+2, true)
}

func (w *writer) indent(column int) {
	for ; column > len(blanks); column -= len(blanks) {
		w.out = append(w.out, blanks...)
	}
	w.out = append(w.out, blanks[:column]...)
}

// scalar is a value in one line, or in several whose others begin at a column.
func scalar(value any, column int) (string, error) {
	switch v := value.(type) {
	case nil:
		return "null", nil
	case bool:
		return strconv.FormatBool(v), nil
	case map[string]any:
		return "{}", nil
	case []any:
		return "[]", nil
	case json.Number:
		return number(v), nil
	case string:
		return text(v, column), nil
	}
	return "", fmt.Errorf("JSON has no %T", value)
}

// number is whole, or a fraction, as it was written.
func number(n json.Number) string {
	if _, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return n.String()
	}
	if _, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
		return n.String()
	}
	if fraction, err := n.Float64(); err == nil {
		return strconv.FormatFloat(fraction, 'g', -1, 64)
	}
	return "'" + n.String() + "'"
}

// text is a text, in the form that people read best.
func text(s string, column int) string {
	switch {
	case plain(s):
		return s
	case other(s):
		return `"` + s + `"`
	case oneLine(s):
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	case block(s):
		return lines(s, column)
	}
	// Each escape of Go is one of YAML.
	return strconv.Quote(s)
}

// key is a text in one line. YAML takes one of more than 1,024 characters for no key, and
// no name in an object of Kubernetes is as long.
func key(s string) string {
	if plain(s) {
		return s
	}
	return strconv.Quote(s)
}

// plain reports whether a text reads as itself without quotes. It begins with a letter, alone
// or as a path or a flag does, so that it is no number and no mark.
func plain(s string) bool {
	begin := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(s, "/"), "-"), "-")
	if begin == "" || !letter(begin[0]) || s[len(s)-1] == ' ' || s[len(s)-1] == ':' || word(s) {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case bare[c]:
		case c == ':' && s[i+1] != ' ':
		default:
			return false
		}
	}
	return true
}

// other reports whether a text without quotes is none to some reader: a number, a time, a
// boolean or nothing.
func other(s string) bool {
	return s == "" || word(s) || strings.Trim(s, "0123456789abcdefABCDEFxoXOTZ:.+-_") == ""
}

// bare are the characters of texts without quotes, but for a colon.
var bare = func() (all [256]bool) {
	for c := range all {
		all[c] = letter(byte(c)) || '0' <= c && c <= '9' || strings.IndexByte("_-./()@+=;, '\"", byte(c)) >= 0
	}
	return all
}()

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// word reports whether a text without quotes is a boolean or null to some reader.
func word(s string) bool {
	if len(s) > len("false") { // most texts
		return false
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return true
	}
	return false
}

// oneLine reports whether a text is one line of printable characters.
func oneLine(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) < 0
}

// block reports whether a text can be written line by line: printable, with one end of line
// at its end at most, and the first line is neither empty nor begins with a blank, which would
// be taken for the indent.
func block(s string) bool {
	return s != "" && s[0] != '\n' && s[0] != ' ' && !strings.HasSuffix(s, "\n\n") &&
		strings.IndexFunc(s, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }) < 0
}

// lines is a text as a block whose lines begin at a column.
func lines(s string, column int) string {
	var out strings.Builder
	body, ended := strings.CutSuffix(s, "\n")
	if out.WriteByte('|'); !ended {
		out.WriteByte('-')
	}
	indent := strings.Repeat(" ", max(column, 2))
	for line := range strings.SplitSeq(body, "\n") {
		out.WriteByte('\n')
		if line != "" {
			out.WriteString(indent)
			out.WriteString(line)
		}
	}
	return out.String()
}
