// Package httpwords extracts a server's explanation from the body of an HTTP error:
// short text, or the message of a JSON or XML document, never a page.
//
// It removes no secrets; a caller whose requests hold some must scrub the result.
// Clients of upstreams call it.
//
// Invariants: at most 8 KiB are read and 300 bytes returned, on one line, in valid
// UTF-8 without control characters; truncated text ends with "…".
// UTF-8 without control characters; what was cut ends with "…".
package httpwords

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxRead = 8 << 10
	maxText = 300
)

// Read returns the message in an error's body; empty if there is none for people.
func Read(contentType string, body io.Reader) string {
	kind, _, _ := mime.ParseMediaType(contentType)
	raw, _ := io.ReadAll(io.LimitReader(body, maxRead))
	switch {
	case kind == "text/plain":
		return Line(string(raw))
	case kind == "application/json", strings.HasSuffix(kind, "+json"):
		var value any
		if json.Unmarshal(raw, &value) != nil {
			return Line(string(raw))
		}
		return Line(said(value))
	case kind == "application/xml", kind == "text/xml":
		var e struct{ Code, Message string }
		_ = xml.Unmarshal(raw, &e)
		return Line(joined(e.Code, e.Message))
	}
	return ""
}

// said finds the message in JSON, in the formats of Git hosts, registries and clouds.
func said(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []any:
		var all []string
		for _, one := range v {
			if text := said(one); text != "" {
				all = append(all, text)
			}
		}
		return strings.Join(all, "; ")
	case map[string]any:
		for _, key := range []string{"errors", "error_description", "message", "detail", "error"} {
			if text := said(v[key]); text != "" {
				code, _ := v["code"].(string)
				return joined(code, text)
			}
		}
	}
	return ""
}

func joined(code, text string) string {
	if code == "" || text == "" {
		return code + text
	}
	return code + ": " + text
}

// Line makes one bounded line from a text.
func Line(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxText {
		return text
	}
	cut := maxText - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// Clause returns words as the end of a sentence, ": words", or nothing if there are
// none.
func Clause(words string) string {
	if words == "" {
		return ""
	}
	return ": " + words
}
