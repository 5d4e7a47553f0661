// Package scrub removes known secret values from text before it leaves a
// process. API servers and renderers quote Secret values in their errors, so
// every message, log tail and event of a service passes a Scrubber built from
// that service's secrets.
//
// It cannot remove what it was not told, and it leaves values shorter than
// minLength alone: replacing every "1" would destroy the text and hide nothing.
package scrub

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"sort"
	"strings"
)

// minLength is the shortest value that is replaced, in bytes.
const minLength = 4

// Scrubber replaces secret values by "[secret NAME]". The nil Scrubber changes
// nothing. It is safe for concurrent use.
type Scrubber struct{ replacer *strings.Replacer }

// New builds a Scrubber from names and values. Each value is found as it is, in
// base64 (padded and not, both alphabets), JSON-escaped and URL-escaped.
func New(secrets map[string]string) *Scrubber {
	type pair struct{ old, replacement string }
	var pairs []pair
	for name, value := range secrets {
		if len(value) < minLength {
			continue
		}
		for _, form := range forms(value) {
			pairs = append(pairs, pair{form, "[secret " + name + "]"})
		}
	}
	// Longest first: a secret that contains another one is replaced whole.
	sort.Slice(pairs, func(i, j int) bool {
		if len(pairs[i].old) != len(pairs[j].old) {
			return len(pairs[i].old) > len(pairs[j].old)
		}
		return pairs[i].old+pairs[i].replacement < pairs[j].old+pairs[j].replacement
	})
	var list []string
	for _, p := range pairs {
		list = append(list, p.old, p.replacement)
	}
	return &Scrubber{replacer: strings.NewReplacer(list...)}
}

// String returns text without the secret values.
func (s *Scrubber) String(text string) string {
	if s == nil {
		return text
	}
	return s.replacer.Replace(text)
}

func forms(value string) []string {
	quoted, _ := json.Marshal(value)
	all := []string{
		value,
		string(quoted[1 : len(quoted)-1]),
		url.QueryEscape(value),
		url.PathEscape(value),
		base64.StdEncoding.EncodeToString([]byte(value)),
		base64.RawStdEncoding.EncodeToString([]byte(value)),
		base64.URLEncoding.EncodeToString([]byte(value)),
		base64.RawURLEncoding.EncodeToString([]byte(value)),
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
