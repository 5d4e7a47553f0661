package digest_test

import (
	"path"
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/digest"
)

// FuzzPaths holds what everything else relies on: a path that is accepted is
// clean and stays below the folder it is joined to, and two accepted sets with
// different entries have different digests.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{"a", "a/b", "../a", "/a", "a//b", "a/./b", "a\nb", "A", "ſ", "\xff"} {
		f.Add(s, "a")
	}
	f.Fuzz(func(t *testing.T, p, q string) {
		b := digest.New()
		if b.Add(p, digest.File, digest.Sum{}) != nil {
			return
		}
		if path.Clean(p) != p || path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../") {
			t.Fatalf("accepted %q", p)
		}
		one := b.Digest()
		if b.Add(q, digest.File, digest.Sum{}) == nil {
			if p == q || strings.EqualFold(p, q) {
				t.Fatalf("accepted %q beside %q", q, p)
			}
			if b.Digest() == one {
				t.Fatalf("%q added nothing to the digest", q)
			}
		}
	})
}
