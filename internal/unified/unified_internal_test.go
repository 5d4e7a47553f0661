package unified

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnified(t *testing.T) {
	many := strings.Join(strings.Split("abcdefghijklmnopqrstuvwxyz", ""), "\n")
	for name, test := range map[string]struct{ from, to, want string }{
		"equal":       {"a\nb\n", "a\nb\n", ""},
		"one line":    {"a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c"},
		"from none":   {"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b"},
		"to none":     {"a\n", "", "@@ -1,1 +0,0 @@\n-a"},
		"far apart":   {many, strings.Replace(strings.Replace(many, "b", "B", 1), "y", "Y", 1), "@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -22,5 +22,5 @@\n v\n w\n x\n-y\n+Y\n z"},
		"an addition": {"a\nc\n", "a\nb\nc\n", "@@ -1,2 +1,3 @@\n a\n+b\n c"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, strings.Join(Hunks(test.from, test.to), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
