package index

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/managed"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// maxText and maxWords limit a filter's text, maxValues all values of a filter.
	maxText   = 300
	maxWords  = 10
	maxValues = 1000
	// mostValues is how many values of a facet are returned.
	mostValues = 50
)

// choice selects values of one field: one of those that are wanted, none of those that
// are not.
type choice struct{ want, not []string }

func choose(values []string) (c choice) {
	for _, v := range values {
		if rest, not := strings.CutPrefix(v, "!"); not {
			c.not = append(c.not, rest)
		} else {
			c.want = append(c.want, v)
		}
	}
	return c
}

func (c choice) empty() bool { return len(c.want)+len(c.not) == 0 }

func (c choice) matches(v string) bool {
	return (len(c.want) == 0 || slices.Contains(c.want, v)) && !slices.Contains(c.not, v)
}

// numbered is a choice by the numbers of words, decided once for each word.
type numbered struct {
	all bool
	yes []bool
}

func (c choice) numbered(w *words) numbered {
	if c.empty() {
		return numbered{all: true}
	}
	n := numbered{yes: make([]bool, w.len())}
	for i, shown := range w.shown {
		n.yes[i] = c.matches(shown)
	}
	return n
}

func (n numbered) matches(i uint32) bool { return n.all || n.yes[i] }

// of decides a closed list.
func (c choice) of(list closed) (yes [8]bool) {
	for i, word := range list {
		yes[i] = c.matches(word)
	}
	return yes
}

// nobody turns the word for no manager into the empty text.
func nobody(values []string) []string {
	out := slices.Clone(values)
	for i, v := range out {
		switch v {
		case managed.Nobody:
			out[i] = ""
		case "!" + managed.Nobody:
			out[i] = "!"
		}
	}
	return out
}

// word is one word of a text: what must be found, or must not.
type word struct {
	text string
	// parts are the pieces between the stars of a pattern; nil without one.
	wild bool
	not  bool
}

// wordsOf splits a filter's text.
func wordsOf(text string) (all []word, err error) {
	if utf8.RuneCountInString(text) > maxText {
		return nil, errcode.New(errcode.Invalid, "text: is longer than %d characters", maxText)
	}
	for _, field := range strings.Fields(strings.ToLower(text)) {
		rest, not := strings.CutPrefix(field, "!")
		if rest == "" {
			continue
		}
		all = append(all, word{text: rest, not: not, wild: strings.ContainsAny(rest, "*?")})
	}
	if len(all) > maxWords {
		return nil, errcode.New(errcode.Invalid, "text: has more than %d words", maxWords)
	}
	return all, nil
}

// in reports whether a text in lower case contains the word.
func (w word) in(text string) bool {
	if !w.wild {
		return strings.Contains(text, w.text)
	}
	return glob("*"+w.text+"*", text)
}

// glob matches a whole text; a star is any text, a question mark any one byte. It needs
// no more than the product of both lengths.
func glob(pattern, text string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// tagFilter is the filter of one key: the values, or any.
type tagFilter struct {
	key  string
	want []string
	not  []string
	any  bool
	none bool
}

// tagsOf groups a filter's tags by key.
func tagsOf(values []string) (all []tagFilter) {
	at := map[string]int{}
	for _, v := range values {
		rest, not := strings.CutPrefix(v, "!")
		key, value, has := strings.Cut(rest, "=")
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, tagFilter{key: key})
		}
		switch f := &all[i]; {
		case has && not:
			f.not = append(f.not, value)
		case has:
			f.want = append(f.want, value)
		case not:
			f.none = true
		default:
			f.any = true
		}
	}
	return all
}

func (f tagFilter) matches(tags map[string]string) bool {
	value, has := tags[f.key]
	switch {
	case f.none && has, has && slices.Contains(f.not, value):
		return false
	case f.any && has, len(f.want) == 0 && !f.any:
		return true
	}
	return has && slices.Contains(f.want, value)
}

// failTags returns how many keys of the filter a cluster does not match, and one of them.
func failTags(all []tagFilter, c *cluster) (fails int, key string) {
	for _, f := range all {
		if !f.matches(c.Tags) {
			fails, key = fails+1, f.key
		}
	}
	return fails, key
}

// bounded refuses a filter with too many values.
func bounded(fields ...[]string) error {
	n := 0
	for _, f := range fields {
		n += len(f)
	}
	if n > maxValues {
		return errcode.New(errcode.Invalid, "filter: has %d values, at most %d", n, maxValues)
	}
	return nil
}

// moment is what a cluster is at the time of a query.
type moment struct {
	freshness fleet.Freshness
	polledAt  int64
}

// now returns a cluster's freshness.
func (x *Index) now(c *cluster) moment {
	if !c.Registered() {
		return moment{fleet.Unknown, 0}
	}
	fresh, at := x.freshness(c.ID)
	return moment{fresh, at}
}
