package repourl_test

import (
	"testing"

	"github.com/axle-cd/axle/internal/repourl"
)

// What an error quotes of a URL has nothing to log in with.
func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"https://ann:hunter2@git.example.com/x": "https://git.example.com/x",
		"HTTPS://token@git.example.com/x":       "https://git.example.com/x",
		"http://a:hun ter2@git.example.com/x":   "http://…",
		"https://git.example.com/%zz":           "https://…",
		"ssh://git:hunter2@git.example.com/x":   "ssh://git@git.example.com/x",
		"git@git.example.com:x":                 "git@git.example.com:x",
		"https://git.example.com/x":             "https://git.example.com/x",
		"fleet":                                 "fleet",
	} {
		if got := repourl.Shown(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
