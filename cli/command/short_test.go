package command_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/cli/command"
)

func TestRevisionsFitATable(t *testing.T) {
	for revision, want := range map[string]string{
		strings.Repeat("0a", 20):                   "0a0a0a0a",
		"sha256:" + strings.Repeat("1f", 32):       "1f1f1f1f",
		"axle1:" + strings.Repeat("2", 64):         "22222222",
		"1.2.3":                                    "1.2.3",
		"1.2.3@sha256:" + strings.Repeat("ab", 32): "1.2.3@abababab",
		"ann@example.com":                          "ann@example.com",
		"v1:beta":                                  "v1:beta",
		"":                                         "",
		"sha256:short":                             "sha256:short",
		strings.Repeat("zz", 20):                   strings.Repeat("zz", 20),
	} {
		if got := command.Short(revision); got != want {
			t.Errorf("%s: %s, want %s", revision, got, want)
		}
	}
}
