package references

import (
	"bytes"
	"strings"
)

// setting is one setting of a file in git's configuration language.
type setting struct {
	section, part string // [section "part"]
	key, value    string
}

// settings reads a file in git's configuration language, in its order. What git would
// refuse is left out.
func settings(raw []byte) (out []setting) {
	if len(raw) > maxText {
		return nil
	}
	text := strings.ReplaceAll(string(bytes.TrimPrefix(raw, []byte("\ufeff"))), "\r\n", "\n")
	var at setting
	for text != "" {
		var line string
		line, text = logicalLine(text)
		if strings.HasPrefix(line, "[") {
			at, line = header(line)
		}
		if line == "" || line[0] == '#' || line[0] == ';' || at.section == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			value = "true" // a key without a value
		}
		if key = strings.ToLower(strings.TrimSpace(key)); key != "" {
			out = append(out, setting{at.section, at.part, key, configValue(value)})
		}
	}
	return out
}

// logicalLine cuts the first line off, with those that it continues on.
func logicalLine(text string) (line, rest string) {
	for {
		part, after, _ := strings.Cut(text, "\n")
		odd := (len(part)-len(strings.TrimRight(part, `\`)))%2 == 1
		if !odd || after == "" {
			return strings.TrimSpace(line + part), after
		}
		line, text = line+strings.TrimSuffix(part, `\`), after
	}
}

// header parses [section], [section "part"] or [section.part], and returns what follows on the
// line.
func header(line string) (at setting, rest string) {
	inside := line[1:]
	end := strings.IndexAny(inside, `]"`)
	if end < 0 {
		return setting{}, ""
	}
	at.section = strings.ToLower(strings.TrimSpace(inside[:end]))
	if inside[end] == ']' {
		at.section, at.part, _ = strings.Cut(at.section, ".")
		return at, strings.TrimSpace(inside[end+1:])
	}
	var part strings.Builder
	for i := end + 1; i < len(inside); i++ {
		switch c := inside[i]; {
		case c == '"':
			at.part = part.String()
			_, rest, _ = strings.Cut(inside[i+1:], "]")
			return at, strings.TrimSpace(rest)
		case c == '\\' && i+1 < len(inside):
			i++
			part.WriteByte(inside[i])
		default:
			part.WriteByte(c)
		}
	}
	return setting{}, ""
}

// configValue parses a value: quotes, escapes, comments.
func configValue(s string) string {
	var out strings.Builder
	quoted := false
	s = strings.TrimSpace(s)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case 'n':
				out.WriteByte('\n')
			case 't':
				out.WriteByte('\t')
			default:
				out.WriteByte(s[i])
			}
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(out.String())
		default:
			out.WriteByte(c)
		}
	}
	if strings.HasSuffix(s, `"`) {
		return out.String()
	}
	return strings.TrimSpace(out.String())
}
