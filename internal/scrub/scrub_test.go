package scrub_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/scrub"
)

func TestEveryFormOfASecretIsReplaced(t *testing.T) {
	const value = "p\"ss w/rd+ü"
	s := scrub.New(map[string]string{"config.password": value})
	for name, text := range map[string]string{
		"plain":  value,
		"base64": base64.StdEncoding.EncodeToString([]byte(value)),
		"raw":    base64.RawURLEncoding.EncodeToString([]byte(value)),
		"json":   `p\"ss w/rd+ü`,
		"query":  url.QueryEscape(value),
		"path":   url.PathEscape(value),
		"%3d":    "p%22ss+w%2frd%2b%c3%bc",
		"a %3d":  "p%22ss%20w%2frd+%c3%bc",
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.String("a " + text + " b"); got != "a [secret config.password] b" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// Messages are cut before anybody knows whose secrets are in them.
func TestTheBeginningOfACutSecretGoes(t *testing.T) {
	const value = "aab-aab-token-0123456789"
	s := scrub.New(map[string]string{"token": value, "other": "aab-other"})
	for text, want := range map[string]string{
		"it is aab-aab-token-01…":  "it is [secret token]…",
		"it is aab-…":              "it is [secret token]…",
		"it is aab-o…":             "it is [secret other]…",
		"it is aab-aab-o…":         "it is aab-[secret other]…",
		"aab-aab-token-012345678…": "[secret token]…",
		"it is " + value + "…":     "it is [secret token]…",
		"it is aab…":               "it is aab…",
		"aab-aab-token-01 is not…": "aab-aab-token-01 is not…",
		"it is aab-aab-token-01":   "it is aab-aab-token-01",
		"…":                        "…",
	} {
		if got := s.String(text); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(value))
	if got := s.String(encoded[:20] + "…"); got != "[secret token]…" {
		t.Errorf("a form that was cut becomes %q", got)
	}
}

func TestLongerSecretWins(t *testing.T) {
	s := scrub.New(map[string]string{"short": "abcd", "long": "abcdefgh"})
	if got := s.String("abcdefgh"); got != "[secret long]" {
		t.Errorf("got %q", got)
	}
}

func TestShortValuesAndNilChangeNothing(t *testing.T) {
	var none *scrub.Scrubber
	if got := none.String("x"); got != "x" {
		t.Errorf("got %q", got)
	}
	if got := scrub.New(map[string]string{"n": "1"}).String("1 of 1"); strings.Contains(got, "secret") {
		t.Errorf("got %q", got)
	}
}
