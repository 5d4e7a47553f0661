package look_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/console/look"
	"github.com/axle-cd/axle/test/console/stack"
)

func TestLook(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "sheets")
	t.Setenv("AXLE_SHEETS", seen)
	whole := look.Run(t, []look.Tests{
		{Config: stack.Config{Profile: "small"}},
		{Config: stack.Config{Profile: "broken"}},
		{Config: stack.Config{Profile: "empty"}},
	})
	if !whole || t.Failed() {
		return
	}
	// Axe writes which sheets a page had (web/test/lib/pages.mjs).
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	sheets, err := bin.Sheets()
	if err != nil {
		t.Fatal(err)
	}
	if len(sheets) == 0 {
		t.Fatal("the console that is built has no style sheet")
	}
	for _, sheet := range sheets {
		if !slices.Contains(strings.Fields(string(text)), sheet) {
			t.Errorf("no page with the style sheet %s was looked at: open one in web/test/small, or, if only web/test/real has such a page, add it to ownStyles in test/bin/style.go", sheet)
		}
	}
}
