package debian_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/cmd/release/debian"
)

// deb makes a package with the given entries.
func deb(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	pack := func(entries []tar.Header) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for _, h := range entries {
			if h.Typeflag == tar.TypeReg {
				h.Size = int64(len(h.Name))
			}
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if h.Typeflag == tar.TypeReg {
				fmt.Fprint(w, h.Name)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	var out bytes.Buffer
	out.WriteString("!<arch>\n")
	for _, m := range []struct {
		name string
		data []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar.gz", pack([]tar.Header{{Typeflag: tar.TypeReg, Name: "./control"}})}, {"data.tar.gz", pack(entries)}} {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, 0, 0, 0, "100644", len(m.data))
		out.Write(m.data)
		if len(m.data)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

func TestUnpack(t *testing.T) {
	tree := debian.Tree{}
	err := tree.Unpack(debian.Package{Name: "thing"}, deb(t,
		tar.Header{Typeflag: tar.TypeReg, Name: "./bin/thing", Mode: 0o4755},
		tar.Header{Typeflag: tar.TypeLink, Name: "./usr/bin/other", Linkname: "./bin/thing"},
		tar.Header{Typeflag: tar.TypeReg, Name: "../../etc/outside"},
		tar.Header{Typeflag: tar.TypeReg, Name: "./usr/share/man/man1/thing.1"},
		tar.Header{Typeflag: tar.TypeReg, Name: "./usr/share/doc/thing/changelog"},
		tar.Header{Typeflag: tar.TypeReg, Name: "./usr/share/doc/thing/copyright"}))
	if err != nil {
		t.Fatal(err)
	}
	if e := tree["usr/bin/thing"]; e.Mode != 0o755 {
		t.Errorf("the program has the mode %o, want 755 in /usr", e.Mode)
	}
	if e := tree["usr/bin/other"]; e.Link != "usr/bin/thing" {
		t.Errorf("the hard link leads to %q", e.Link)
	}
	for _, name := range []string{"etc/outside", "var/lib/dpkg/status.d/thing", "usr/share/doc/thing/copyright"} {
		if _, ok := tree[name]; !ok {
			t.Errorf("lacks %s", name)
		}
	}
	if len(tree) != 5 {
		t.Errorf("%d entries, want 5: manuals and changelogs stay away", len(tree))
	}
	if err := tree.Unpack(debian.Package{Name: "thing"}, deb(t, tar.Header{Typeflag: tar.TypeChar, Name: "./dev/sda"})); err == nil || !strings.Contains(err.Error(), "neither a file") {
		t.Errorf("a device: %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	whole := deb(f, tar.Header{Typeflag: tar.TypeReg, Name: "./bin/thing"})
	f.Add(whole)
	f.Add(whole[:100])
	f.Add([]byte("!<arch>\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree := debian.Tree{}
		if tree.Unpack(debian.Package{Name: "thing"}, data) != nil {
			return
		}
		for name := range tree {
			if name == "" || name[0] == '/' || !filepath.IsLocal(name) {
				t.Errorf("an entry %q", name)
			}
		}
	})
}

// TestStore shows that content counts: a mirror that lies is refused, and what is kept
// needs no mirror.
func TestStore(t *testing.T) {
	good := deb(t, tar.Header{Typeflag: tar.TypeReg, Name: "./bin/thing"})
	sum := sha256.Sum256(good)
	serve := []byte("altered")
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(serve) }))
	// Nothing but the mirror is asked: snapshots are another host.
	only := &http.Client{Transport: onlyHost{mirror.Listener.Addr().String()}}
	s := debian.Store{Dir: t.TempDir(), Mirror: mirror.URL, Client: only}
	p := debian.Package{Name: "thing", Version: "1", Archive: "debian", Path: "pool/thing.deb", SHA256: hex.EncodeToString(sum[:])}
	l := &debian.Lock{Taken: time.Unix(1700000000, 0)}
	if _, err := s.Get(t.Context(), l, p); err == nil || !strings.Contains(err.Error(), "not that of the lock") || !strings.Contains(err.Error(), "20231114T221320Z/pool/thing.deb") {
		t.Errorf("a lying mirror: %v; want both places named", err)
	}
	serve = good
	if _, err := s.Get(t.Context(), l, p); err != nil {
		t.Fatal(err)
	}
	mirror.Close()
	if got, err := s.Get(t.Context(), l, p); err != nil || !bytes.Equal(got, good) {
		t.Errorf("from the kept copy: %v", err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, p.SHA256), []byte("rotten"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), l, p); err == nil {
		t.Error("a rotten copy was used")
	}
}

type onlyHost struct{ host string }

func (o onlyHost) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != o.host {
		return nil, fmt.Errorf("%s: refused", r.URL)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestLock(t *testing.T) {
	const file = "../../../deploy/images/hub.lock"
	l, err := debian.ReadLock(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(l.Format(), text) {
		t.Error("the lock is not as make image-lock writes it")
	}
	for _, arch := range []string{"amd64", "arm64"} {
		if _, err := l.For(arch, "git", "ca-certificates", "libc6"); err != nil {
			t.Error(err)
		}
	}
	head := "suite s\ntaken 2026-01-01T00:00:00Z\n"
	for bad, want := range map[string]string{
		"": "no suite", head: "no packages",
		head + "package a b":                         "3: not a line",
		head + "package a b 1 debian pool/b.deb x 1": "has no SHA-256",
		head + "package a b 1 debian pool/../../x " + strings.Repeat("0", 64) + " 1": "outside the archive's pool",
		head + "package a b 1 debian pool/b " + strings.Repeat("0", 64) + " many":    "is no number",
	} {
		file := filepath.Join(t.TempDir(), "lock")
		if err := os.WriteFile(file, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := debian.ReadLock(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", bad, err, want)
		}
	}
}
