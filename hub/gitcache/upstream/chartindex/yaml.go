package chartindex

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/aliases"
)

// lines parses an index in the form that every tool writes: block style,
// entries by name, versions as lists of maps. It finds the structure by
// indentation only, and parses only the fields that are kept. Anything else is
// errUnusual.
type lines struct {
	b *builder

	inEntries bool
	key       int // indentation of chart names; 0 before the first
	dash      int // of the items of this chart; -1 before the first
	field     int // of the fields of this item; -1 before the first
	open      bool
	current   item
	name      string // of the current field, when it is kept
	text      []string
	size      int
}

func (b *builder) yaml(in *bufio.Reader) error {
	l := &lines{b: b, dash: -1, field: -1}
	content := false
	for {
		line, err := readLine(in)
		if len(line) > 0 {
			stop, bad := l.line(line, content)
			if bad != nil || stop {
				return errors.Join(bad, l.finishIfOK(bad))
			}
			content = content || line[0] != '#' && line[0] != '-' && line[0] != '%'
		}
		if errors.Is(err, io.EOF) {
			return l.finish()
		}
		if err != nil {
			return err
		}
	}
}

func (l *lines) finishIfOK(bad error) error {
	if bad != nil {
		return nil
	}
	return l.finish()
}

// readLine returns the next line without its end, cut at maxLine.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
	}
	line = bytes.TrimRight(line, "\r\n \t")
	return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), err
}

// line handles one line; stop means that the document ends.
func (l *lines) line(line []byte, content bool) (stop bool, err error) {
	indent := 0
	for indent < len(line) && line[indent] == ' ' {
		indent++
	}
	rest := line[indent:]
	if len(rest) == 0 || rest[0] == '#' {
		return false, nil
	}
	// Below a field it is the text of a scalar, which may have tabs.
	if rest[0] == '\t' && l.inEntries && (l.field < 0 || indent <= l.field) {
		return false, garbage("a line is indented by a tab: %.80q", line)
	}
	if indent == 0 {
		return l.top(rest, content)
	}
	if !l.inEntries {
		return false, nil
	}
	if l.key == 0 {
		l.key = indent
	}
	item := rest[0] == '-' && (len(rest) == 1 || rest[1] == ' ')
	switch {
	case indent < l.key:
		return false, garbage("a line is indented less than the lines before it: %.80q", line)
	case indent == l.key && !item:
		return false, l.chart(rest)
	case len(l.b.x.charts) == 0:
		return false, errUnusual
	case item && (l.dash < 0 || indent == l.dash):
		return false, l.item(indent, rest)
	case l.dash < 0 || indent <= l.dash:
		return false, errUnusual
	}
	return false, l.inside(indent, rest)
}

// top handles a line without indentation.
func (l *lines) top(rest []byte, content bool) (stop bool, err error) {
	if bytes.HasPrefix(rest, []byte("---")) {
		return content, nil
	}
	if bytes.HasPrefix(rest, []byte("...")) {
		return true, nil
	}
	if rest[0] == '-' && l.inEntries {
		return false, errUnusual
	}
	if err := l.finish(); err != nil {
		return false, err
	}
	key, value, ok := splitKey(rest)
	l.inEntries = ok && key == "entries"
	if !l.inEntries {
		return false, nil
	}
	if l.b.entries {
		return false, garbage("it has the key entries twice")
	}
	l.b.entries = true
	switch value {
	case "", "{}", "null", "~":
		return false, nil
	}
	return false, errUnusual
}

// splitKey splits "key: value"; the key may be quoted, and a comment is not a
// value.
func splitKey(s []byte) (key, value string, ok bool) {
	text := string(s)
	if text[0] == '"' || text[0] == '\'' {
		end := strings.IndexByte(text[1:], text[0])
		if end < 0 || strings.Contains(text[1:1+end], `\`) {
			return "", "", false
		}
		key, text = text[1:1+end], text[2+end:]
		if !strings.HasPrefix(text, ":") {
			return "", "", false
		}
	} else {
		at := strings.IndexByte(text, ':')
		for at >= 0 && at+1 < len(text) && text[at+1] != ' ' && text[at+1] != '\t' {
			next := strings.IndexByte(text[at+1:], ':')
			if next < 0 {
				return "", "", false
			}
			at += 1 + next
		}
		if at <= 0 || strings.ContainsAny(text[:1], "?&*!|>%@`[]{},") {
			return "", "", false
		}
		key, text = strings.TrimRight(text[:at], " "), text[at:]
	}
	value = strings.TrimSpace(text[1:])
	if strings.HasPrefix(value, "#") {
		value = ""
	}
	return key, value, true
}

// chart begins the chart that a line names.
func (l *lines) chart(rest []byte) error {
	if err := l.finish(); err != nil {
		return err
	}
	name, value, ok := splitKey(rest)
	if !ok {
		return errUnusual
	}
	l.dash, l.field = -1, -1
	switch value {
	case "", "[]", "null", "~":
		return l.b.chart(name)
	}
	return errUnusual
}

// item begins a version.
func (l *lines) item(indent int, rest []byte) error {
	if err := l.finish(); err != nil {
		return err
	}
	l.dash, l.field, l.open = indent, -1, true
	body := bytes.TrimLeft(rest[1:], " ")
	if len(body) == 0 || body[0] == '#' {
		return nil
	}
	return l.inside(indent+len(rest)-len(body), body)
}

// inside handles a line of a version.
func (l *lines) inside(indent int, rest []byte) error {
	if l.field < 0 {
		l.field = indent
	}
	if indent < l.field {
		return garbage("a line is indented less than the lines before it: %.80q", rest)
	}
	sameDash := rest[0] == '-' && (len(rest) == 1 || rest[1] == ' ')
	if indent > l.field || sameDash {
		if l.name != "" {
			l.keep(strings.Repeat(" ", indent-l.field) + string(rest))
		}
		return nil
	}
	if err := l.endField(); err != nil {
		return err
	}
	key, value, ok := splitKey(rest)
	if !ok {
		return errUnusual
	}
	switch key {
	case "version", "urls", "digest", "created", "deprecated", "removed":
		l.name = key
		l.keep(value)
	}
	return nil
}

func (l *lines) keep(text string) {
	if l.size += len(text) + 1; l.size <= maxLine {
		l.text = append(l.text, text)
	}
}

// endField parses the field whose lines are complete.
func (l *lines) endField() error {
	name, text, size := l.name, l.text, l.size
	l.name, l.text, l.size = "", l.text[:0], 0
	if name == "" {
		return nil
	}
	if size > maxLine {
		return nil // a version of 64 KiB is not valid
	}
	if values, ok := simple(name, text); ok {
		l.set(name, values)
		return nil
	}
	var i item
	one := []byte(name + ": " + strings.Join(text, "\n") + "\n")
	if aliases.Check(one) != nil || yaml.Unmarshal(one, &i) != nil {
		return nil // the entry is skipped without it
	}
	switch name {
	case "version":
		l.current.Version = i.Version
	case "urls":
		l.current.URLs = i.URLs
	case "digest":
		l.current.Digest = i.Digest
	case "created":
		l.current.Created = i.Created
	case "deprecated":
		l.current.Deprecated = i.Deprecated
	case "removed":
		l.current.Removed = i.Removed
	}
	return nil
}

func (l *lines) set(name string, values []string) {
	switch name {
	case "version":
		l.current.Version = values[0]
	case "urls":
		l.current.URLs = values
	case "digest":
		l.current.Digest = values[0]
	case "created":
		l.current.Created = values[0]
	case "deprecated":
		l.current.Deprecated = values[0] == "true"
	case "removed":
		l.current.Removed = values[0] == "true"
	}
}

// simple parses the form of nearly every field: one scalar, or a list of
// scalars, each on its line and without escapes.
func simple(name string, text []string) ([]string, bool) {
	if name != "urls" {
		if len(text) != 1 {
			return nil, false
		}
		v, ok := scalar(text[0])
		return []string{v}, ok
	}
	if text[0] != "" || len(text) < 2 {
		return nil, false
	}
	var values []string
	for _, t := range text[1:] {
		t, ok := strings.CutPrefix(strings.TrimLeft(t, " "), "- ")
		if !ok {
			return nil, false
		}
		v, ok := scalar(strings.TrimLeft(t, " "))
		if !ok {
			return nil, false
		}
		values = append(values, v)
	}
	return values, true
}

// scalar parses a plain or quoted scalar that needs no YAML parser.
func scalar(s string) (string, bool) {
	if s == "" {
		return "", false
	}
	if q := s[0]; q == '"' || q == '\'' {
		if len(s) < 2 || s[len(s)-1] != q || strings.ContainsAny(s[1:len(s)-1], "\"'\\") {
			return "", false
		}
		return s[1 : len(s)-1], true
	}
	for i, c := range []byte(s) {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '.', c == '_', c == '/', c == '+', c == '%', c == '=', c == '~' && i > 0:
		case (c == '-' || c == '?' || c == '&') && i > 0:
		case c == ':' && i > 0 && i+1 < len(s):
		default:
			return "", false
		}
	}
	return s, s != "null"
}

// finish ends the current version.
func (l *lines) finish() error {
	if err := l.endField(); err != nil {
		return err
	}
	if !l.open {
		return nil
	}
	i := l.current
	l.open, l.current = false, item{}
	return l.b.add(i)
}
