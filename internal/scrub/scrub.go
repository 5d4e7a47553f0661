// Package scrub removes known secret values from text before it leaves a
// process. API servers and renderers quote Secret values in their errors, so
// every message, log tail and event of a service passes a Scrubber built from
// that service's secrets.
//
// It cannot remove values that it was not given. It leaves values shorter than
// minLength: replacing every "1" would destroy the text and hide nothing.
package scrub

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"sort"
	"strings"
	"unicode"
)

// minLength is the minimum length in bytes of a value that is replaced, and of the
// beginning of one.
const minLength = 4

// cutMark ends a truncated text.
const cutMark = "…"

// Scrubber replaces secret values by "[secret NAME]". The nil Scrubber changes
// nothing. It is safe for concurrent use.
type Scrubber struct {
	replacer *strings.Replacer
	pairs    []pair
}

// pair is one form of a value, and its replacement.
type pair struct{ old, replacement string }

// New builds a Scrubber from names and values. Each value is found as it is, in
// base64 (padded or not, both alphabets), JSON-escaped, URL-escaped (%3D or %3d) and in one
// line.
func New(secrets map[string]string) *Scrubber {
	var pairs []pair
	for name, value := range secrets {
		if len(value) < minLength {
			continue
		}
		for _, form := range forms(value) {
			pairs = append(pairs, pair{form, "[secret " + name + "]"})
		}
	}
	// Longest first: a secret that contains another one is replaced completely.
	sort.Slice(pairs, func(i, j int) bool {
		if len(pairs[i].old) != len(pairs[j].old) {
			return len(pairs[i].old) > len(pairs[j].old)
		}
		return pairs[i].old+pairs[i].replacement < pairs[j].old+pairs[j].replacement
	})
	s := &Scrubber{pairs: pairs}
	var list []string
	for _, p := range pairs {
		list = append(list, p.old, p.replacement)
	}
	s.replacer = strings.NewReplacer(list...)
	return s
}

// String returns text without the secret values. A text that ends with "…" was
// truncated, perhaps inside a value: the beginning of that value is replaced too.
func (s *Scrubber) String(text string) string {
	if s == nil {
		return text
	}
	text = s.replacer.Replace(text)
	if body, cut := strings.CutSuffix(text, cutMark); cut {
		return s.withoutBeginning(body) + cutMark
	}
	return text
}

// withoutBeginning replaces the longest end of a text that is the beginning of a
// value.
func (s *Scrubber) withoutBeginning(text string) string {
	at, replacement := len(text), ""
	for _, p := range s.pairs {
		if i := beginning(text, p.old); i < at {
			at, replacement = i, p.replacement
		}
	}
	return text[:at] + replacement
}

// beginning returns where the longest end of a text starts that is the beginning of a
// value, or the text's length if there is none.
func beginning(text, value string) int {
	head := value[:minLength]
	for i := max(0, len(text)-len(value)); ; i++ {
		next := strings.Index(text[i:], head)
		if next < 0 {
			return len(text)
		}
		if i += next; strings.HasPrefix(value, text[i:]) {
			return i
		}
	}
}

// lowerEscapes writes the escapes of a URL as some servers quote them: %3d for %3D.
func lowerEscapes(escaped string) string {
	parts := strings.Split(escaped, "%")
	for i, part := range parts[1:] {
		parts[i+1] = strings.ToLower(part[:2]) + part[2:]
	}
	return strings.Join(parts, "%")
}

func forms(value string) []string {
	quoted, _ := json.Marshal(value)
	all := []string{
		value,
		string(quoted[1 : len(quoted)-1]),
		url.QueryEscape(value),
		url.PathEscape(value),
		lowerEscapes(url.QueryEscape(value)),
		lowerEscapes(url.PathEscape(value)),
		base64.StdEncoding.EncodeToString([]byte(value)),
		base64.RawStdEncoding.EncodeToString([]byte(value)),
		base64.URLEncoding.EncodeToString([]byte(value)),
		base64.RawURLEncoding.EncodeToString([]byte(value)),
	}
	// Messages are one line, whatever was quoted in them.
	if line := strings.Join(strings.FieldsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " "); len(line) >= minLength {
		all = append(all, line)
	}
	seen := map[string]bool{}
	unique := all[:0]
	for _, f := range all {
		if !seen[f] {
			seen[f] = true
			unique = append(unique, f)
		}
	}
	return unique
}
