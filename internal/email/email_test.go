package email_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/email"
)

func TestLowerKnowsNoOtherLetters(t *testing.T) {
	for text, want := range map[string]string{
		"Ann@Example.COM": "ann@example.com", "": "", "ann": "ann", "[\\]^_`{|}~@Z": "[\\]^_`{|}~@z",
		"\u212Aim@example.com": "\u212Aim@example.com", "ſteve@example.com": "ſteve@example.com", "İ@example.com": "İ@example.com", "ÄNN@Ä.example": "Änn@Ä.example",
		"Ａ@example.com": "Ａ@example.com", "Ω@\u2126.example": "Ω@\u2126.example", "\xffA": "\uFFFDa",
	} {
		if got := email.Lower(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	// What is no ASCII letter never becomes one.
	for r := rune(0x80); r <= 0x1ffff; r++ {
		if got := email.Lower(string(r)); strings.ContainsFunc(got, func(r rune) bool { return r < 0x80 }) {
			t.Errorf("%U becomes %q", r, got)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"ann@example.com": "ann@example.com", "Ann <ann@example.com>": "ann@example.com", "Ann@Example.com": "Ann@Example.com", "o'neil+x@example.com": "o'neil+x@example.com",
		"": "", "ann": "", "ann@example.com, bob@example.com": "", `"a b"@example.com`: "", `"a@corp.example"@evil.example`: "", "ann@example.com\nbob@example.com": "",
		"\u212Aim@example.com": "", "ann@\u212Aube.example": "", "müller@example.com": "", "аnn@example.com": "", "ann@exаmple.com": "", "ann\u200B@example.com": "", "ａnn@example.com": "",
		"=?utf-8?q?ann?= <ann@example.com>": "ann@example.com",
	} {
		if got, ok := email.Parse(text); ok != (want != "") || ok && got != want {
			t.Errorf("%q is %q, %v, want %q", text, got, ok, want)
		}
	}
}
