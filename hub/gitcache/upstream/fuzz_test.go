package upstream

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

func FuzzTree(f *testing.F) {
	id := strings.Repeat("\x01", 20)
	f.Add([]byte("100644 a\x00" + id + "40000 b\x00" + id))
	f.Add([]byte("100644 \x00" + id))
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, err := parseTree(raw, 20)
		for _, e := range entries {
			if err == nil && (!IsID(e.id) || strings.ContainsRune(e.name, 0)) {
				t.Fatalf("entry %+v", e)
			}
		}
	})
}

// FuzzListing holds that whatever a server says, only usable names of full ids
// come out of it.
func FuzzListing(f *testing.F) {
	id := strings.Repeat("ab", 20)
	f.Add([]byte("003d" + id + " refs/heads/main\n0000"))
	f.Add([]byte("001e# service=git-upload-pack\n0000000eversion 2\n0000"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var refs []Ref
		if a, err := readAdvertisement(bufio.NewReader(bytes.NewReader(raw))); err == nil {
			refs = append(refs, a.refs...)
		}
		if r, err := readRefs(bufio.NewReader(bytes.NewReader(raw))); err == nil {
			refs = append(refs, r...)
		}
		for _, r := range under(refs, nil) {
			if !IsID(r.ID) || !usableRef(r.Name) || strings.ContainsAny(r.Name, "\n\x00 ") {
				t.Fatalf("ref %+v", r)
			}
		}
	})
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"https://a/b", "git@a:b", "ssh://-x/y", "http://u:p@[::1]:80/x", "ext::sh"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		loc, _, _, err := ParseURL(s, true)
		if err != nil {
			return
		}
		out := loc.String()
		if strings.HasPrefix(out, "-") || strings.ContainsAny(out, "\n\x00 ") || strings.HasPrefix(loc.Host, "-") || strings.HasPrefix(loc.User, "-") {
			t.Fatalf("%q became %q", s, out)
		}
		again, _, _, err := ParseURL(out, true)
		if err != nil || again != loc {
			t.Fatalf("%q became %q, which is %+v, %v", s, out, again, err)
		}
	})
}
