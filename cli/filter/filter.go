// Package filter reads flags that keep only some items of a list by a word,
// such as --health Degraded,Missing.
//
// It makes no calls and does not know what the words mean. cli/services lists with it.
package filter

import (
	"fmt"
	"slices"
	"strings"
)

// Words is one flag.
type Words struct {
	// Flag is its name, without dashes.
	Flag string
	// Allowed are the words that exist.
	Allowed []string
	// Given are the words of the command line. None keeps every item.
	Given []string
}

// List is the allowed words, for help and errors.
func (w Words) List() string { return strings.Join(w.Allowed, ", ") }

// Check returns an error for a word that does not exist: it would hide every
// item, and the list would look as if there were none.
func (w Words) Check() error {
	for _, given := range w.Given {
		if !slices.ContainsFunc(w.Allowed, func(word string) bool { return strings.EqualFold(word, given) }) {
			return fmt.Errorf("--%s %q is not one of %s", w.Flag, given, w.List())
		}
	}
	return nil
}

// Words are the given words as the hub spells them. Case does not count.
func (w Words) Words() (words []string) {
	for _, word := range w.Allowed {
		if slices.ContainsFunc(w.Given, func(given string) bool { return strings.EqualFold(word, given) }) {
			words = append(words, word)
		}
	}
	return words
}

// Keeps reports whether an item with this word stays. Case does not count.
func (w Words) Keeps(word string) bool {
	return len(w.Given) == 0 || slices.ContainsFunc(w.Given, func(given string) bool { return strings.EqualFold(word, given) })
}
