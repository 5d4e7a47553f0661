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

// FuzzListing checks that whatever a server sends, only valid names with full
// ids come out of it, and that they fit into a table.
func FuzzListing(f *testing.F) {
	id := strings.Repeat("ab", 20)
	f.Add([]byte("003d" + id + " refs/heads/main\n0000"))
	f.Add([]byte("001e# service=git-upload-pack\n0000000eversion 2\n0000"))
	f.Add([]byte("0052" + id + " HEAD symref-target:refs/heads/main\n0000"))
	f.Add([]byte("0008ERR "))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var list Refs
		see := func(r Ref) error {
			if !IsID(r.ID) || !usableRef(r.Name) || strings.ContainsAny(r.Name, "\n\x00 ") || strings.HasPrefix(r.Name, ours) {
				t.Fatalf("ref %+v", r)
			}
			if list.Len() > 0 && len(r.ID) != len(list.ID(0)) {
				return nil
			}
			return list.Add(r.Name, r.ID)
		}
		prefixes := []string{"refs/"}
		a, err := readAdvertisement(bufio.NewReader(bytes.NewReader(raw)), prefixes, see)
		if err == nil && a.Default != "" && !usableRef(a.Default) {
			t.Fatalf("default branch %q", a.Default)
		}
		var l Listing
		if err := readRefs(bufio.NewReader(bytes.NewReader(raw)), &l, prefixes, see); err == nil && l.Default != "" && !usableRef(l.Default) {
			t.Fatalf("default branch %q", l.Default)
		}
		for name, id := range list.All() {
			if !usableRef(name) || !IsID(id) {
				t.Fatalf("the list holds %q at %q", name, id)
			}
		}
	})
}

// FuzzPacket checks that packets are read to their end or not at all.
func FuzzPacket(f *testing.F) {
	for _, s := range []string{"0000", "0005a", "0006a\n", "0003", "ffff", "00", "zzzz", "0004", "0009ERR x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(raw), 64)
		for range len(raw) + 1 {
			p, err := readPacket(r)
			if err != nil {
				return
			}
			if len(p.text) > 65531 || (p.flush || p.delim) && p.text != "" {
				t.Fatalf("packet %+v", p)
			}
		}
		t.Fatal("more packets than bytes")
	})
}

// FuzzTable checks that a table finds what was added to it.
func FuzzTable(f *testing.F) {
	f.Add("refs/heads/a", "refs/tags/b")
	f.Fuzz(func(t *testing.T, x, y string) {
		if !usableRef(x) || !usableRef(y) || x >= y {
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
