package references_test

import (
	"path"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/references"
)

// FuzzReferences checks that no text of a tenant makes the readers panic, or
// yields an external reference without a location, a chart or a reason.
func FuzzReferences(f *testing.F) {
	f.Add([]byte("resources: [\"https://a.test/b/c//d?ref=v1\"]\nhelmCharts:\n- {name: x, repo: https://a.test}\n"))
	f.Add([]byte("dependencies:\n- {name: x, version: 1, repository: oci://a.test/b}\n"))
	f.Add([]byte("a: &a [*a]\nresources: *a\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, external := references.Kustomization(raw)
		_, more := references.Chart(raw, raw)
		for _, n := range append(external, more...) {
			if n.Problem != "" {
				continue
			}
			if n.URL == "" || strings.HasPrefix(n.URL, "-") || n.Folder == ".." || strings.HasPrefix(n.Folder, "../") || strings.HasPrefix(n.Folder, "/") {
				t.Fatalf("external reference %+v", n)
			}
			if n.Kind != references.Base && (n.Name != path.Base(n.Name) || strings.HasPrefix(n.Name, ".")) {
				t.Fatalf("chart %+v", n)
			}
		}
	})
}

func FuzzGitmodules(f *testing.F) {
	f.Add([]byte("[submodule \"a\"]\n\tpath = a\n\turl = ../b.git\n"), "https://h.test/a/b.git")
	f.Add([]byte("[lfs]\n\turl = git://a.test\n\tfetchinclude = a/**,*.b\\\n,[c\n"), "")
	f.Fuzz(func(t *testing.T, raw []byte, parent string) {
		if c, err := references.ParseLFSConfig(raw); err == nil {
			if _, steps, err := c.Fetches("a/b/c.bin", 1000); err == nil && steps > 1000 {
				t.Fatalf("it took %d steps of 1000", steps)
			}
		}
		for p, u := range references.Gitmodules(raw) {
			got, err := references.SubmoduleURL(parent, u)
			if err == nil && (strings.HasPrefix(got, "-") || strings.ContainsAny(got, "\n\x00") || p == "") {
				t.Fatalf("submodule %q of %q is at %q", p, parent, got)
			}
		}
	})
}

func FuzzPointer(f *testing.F) {
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("ab", 32) + "\nsize 12\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if p, ok := references.ParsePointer(raw); ok && (len(p.OID) != 64 || p.Size < 0 || strings.ContainsAny(p.OID, "/.")) {
			t.Fatalf("pointer %+v", p)
		}
		if a, err := references.ParseAttributes(raw); err == nil {
			if _, _, steps, err := a.LFS("a/b.bin", 1000); err == nil && steps > 1000 {
				t.Fatalf("it took %d steps of 1000", steps)
			}
		}
	})
}
