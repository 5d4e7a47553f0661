// Package plain makes untrusted text safe to show: valid UTF-8 of bounded length,
// without control characters (C0, C1, terminal escape sequences) and without
// characters that are invisible or change the text direction. Text from agents,
// upstreams and clusters may reach a terminal, where such characters move the cursor,
// hide lines and type commands.
//
// It is for display only: data that is stored for programs, hashed or compared must
// not pass through it.
package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cutMark ends, or begins, a truncated text.
const cutMark = "…"

// The joiners of scripts and emoji are invisible, and change how their neighbours are
// displayed.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// shown reports whether a character may be shown unchanged.
func shown(r rune) bool {
	switch {
	case r == nonJoiner || r == joiner:
		return true
	case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
		return false
	}
	return true
}

// Line returns text as one line of at most that many bytes plus a mark; zero means no
// bound. Line breaks become spaces.
func Line(text string, most int) string {
	if simple(text, most, false) {
		return text
	}
	return cut(clean(text, ' '), most)
}

// Text is Line for a text that may have several lines.
func Text(text string, most int) string {
	if simple(text, most, true) {
		return text
	}
	return cut(clean(text, '\n'), most)
}

// Tail is Text for a text whose end matters.
func Tail(text string, most int) string {
	if simple(text, most, true) {
		return text
	}
	text = clean(text, '\n')
	if most > 0 && len(text) > most {
		text = text[len(text)-most:]
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
		text = cutMark + text
	}
	return text
}

// simple quickly reports whether a text needs no change.
func simple(text string, most int, lines bool) bool {
	if most > 0 && len(text) > most {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && !(lines && (c == '\n' || c == '\t')) {
			return false
		}
	}
	return true
}

// cut truncates a text at the end of a character.
func cut(text string, most int) string {
	if most <= 0 || len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + cutMark
}

// clean removes characters that must not be shown; line breaks become line.
func clean(text string, line rune) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	var out strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == '\r' && strings.HasPrefix(text[n:], "\n"):
		case r == '\n' || r == '\r' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			out.WriteRune(line)
		case r == '\t' && line == '\n':
			out.WriteRune(r)
		case r == '\t':
			out.WriteRune(' ')
		case r == '\x1b' || '\u0080' <= r && r <= '\u009f':
			n = sequence(text)
		case shown(r):
			out.WriteRune(r)
		}
		text = text[n:]
	}
	return out.String()
}

// sequence is the length in bytes of the control sequence at the beginning of a text.
// Of one without an end only the first character counts, so that it cannot hide the
// rest.
func sequence(text string) int {
	first, n := utf8.DecodeRuneInString(text)
	kind := first - '\u0080' + '@' // C1 is the short form of ESC and a letter
	if first == '\x1b' {
		if len(text) == 1 {
			return n
		}
		if kind = rune(text[1]); kind < '@' || kind > '_' {
			return n
		}
		n = 2
	}
	rest := text[n:]
	switch kind {
	case '[':
		i := strings.IndexFunc(rest, func(r rune) bool { return r < ' ' || r > '?' })
		if i >= 0 && '@' <= rest[i] && rest[i] <= '~' {
			return n + i + 1
		}
	case ']', 'P', 'X', '^', '_':
		end := -1
		for _, st := range []string{"\a", "\x1b\\", "\u009c"} {
			if i := strings.Index(rest, st); i >= 0 && (end < 0 || i+len(st) < end) {
				end = i + len(st)
			}
		}
		if end >= 0 && !strings.ContainsAny(rest[:end], "\n\r") {
			return n + end
		}
	}
	return n
}
