// Package email reads e-mail addresses that name people. Everything that compares
// addresses or domains uses it, so that two of them are the same everywhere or nowhere.
// It does not know who has an address.
//
// Invariants: only the letters A to Z have a small form: by Unicode's rules the Kelvin
// sign (U+212A) becomes a k, and somebody else's mailbox the same name; an address that
// names somebody new is ASCII, so that none looks like another.
package email

import (
	"net/mail"
	"strings"
)

// Lower returns the one spelling in which addresses, and domains, are compared.
func Lower(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, text)
}

// Parse returns the address in a text such as "ann@example.com" or "Ann
// <ann@example.com>", as it is written. ok is false when there is none, or it is one
// that cannot be a name: it has a character beyond ASCII, a blank, or needs quotes.
func Parse(text string) (address string, ok bool) {
	parsed, err := mail.ParseAddress(text)
	if err != nil {
		return "", false
	}
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }
	return parsed.Address, !strings.ContainsFunc(parsed.Address, odd) && strings.Count(parsed.Address, "@") == 1
}
