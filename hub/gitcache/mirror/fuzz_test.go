package mirror

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/gitref"
	"github.com/axle-cd/axle/internal/gitobject"
)

func FuzzTree(f *testing.F) {
	id := strings.Repeat("\x01", 20)
	f.Add([]byte("100644 a\x00" + id + "40000 b\x00" + id))
	f.Add([]byte("100644 \x00" + id))
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, err := parseTree(raw, 20)
		for _, e := range entries {
			if err == nil && (!gitobject.IsID(e.id) || strings.ContainsRune(e.name, 0)) {
				t.Fatalf("entry %+v", e)
			}
		}
	})
}

// FuzzTable checks that a table finds what was added to it.
func FuzzTable(f *testing.F) {
	f.Add("refs/heads/a", "refs/tags/b")
	f.Fuzz(func(t *testing.T, x, y string) {
		if !gitref.Usable(x) || !gitref.Usable(y) || x >= y {
			return
		}
		id := strings.Repeat("0f", 20)
		var table Table
		for _, name := range []string{x, y} {
			if err := table.line([]byte(id + " commit   " + name)); err != nil {
				t.Fatal(err)
			}
		}
		if table.Raw(x) != id || table.Raw(y) != id || table.Raw(x+"x") != "" && x+"x" != y {
			t.Fatalf("%q, %q", table.Raw(x), table.Raw(y))
		}
	})
}
