package debian

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// User is the account of our images, as number and group.
const User = 65532

// certificates is the one file that Go and git read authorities from.
const certificates = "etc/ssl/certs/ca-certificates.crt"

// Base unpacks packages into the file system that an image begins with: users, links
// into /usr, certificate authorities, and an empty /tmp and home.
func Base(ctx context.Context, s Store, l *Lock, packages []Package) (Tree, error) {
	t := Tree{}
	for _, p := range packages {
		deb, err := s.Get(ctx, l, p)
		if err != nil {
			return nil, err
		}
		if err := t.Unpack(p, deb); err != nil {
			return nil, err
		}
	}
	for _, m := range merged {
		t[m] = Entry{Type: tar.TypeSymlink, Mode: 0o777, Link: "usr/" + m}
		t["usr/"+m] = Entry{Type: tar.TypeDir, Mode: 0o755}
	}
	if err := t.authorities(); err != nil {
		return nil, err
	}
	t.text("etc/passwd", fmt.Sprintf("root:x:0:0:root:/:/none\naxle:x:%d:%d:axle:/home/axle:/none\n", User, User))
	t.text("etc/group", fmt.Sprintf("root:x:0:\naxle:x:%d:\n", User))
	t.text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
	t["tmp"] = Entry{Type: tar.TypeDir, Mode: 0o1777}
	t["home/axle"] = Entry{Type: tar.TypeDir, Mode: 0o1777}
	t["var/lib/axle"] = Entry{Type: tar.TypeDir, Mode: 0o1777}
	t.parents()
	return t, nil
}

func (t Tree) text(name, content string) {
	t[name] = Entry{Type: tar.TypeReg, Mode: 0o644, Data: []byte(content)}
}

// authorities makes one file of the certificates, which a script of the package does
// elsewhere, and removes the single ones.
func (t Tree) authorities() error {
	const dir = "usr/share/ca-certificates/"
	var all bytes.Buffer
	for _, name := range t.names() {
		if !strings.HasPrefix(name, dir) {
			continue
		}
		if strings.HasSuffix(name, ".crt") {
			all.Write(bytes.TrimSpace(t[name].Data))
			all.WriteByte('\n')
		}
		delete(t, name)
	}
	if all.Len() == 0 {
		return fmt.Errorf("no certificate authorities: the packages lack ca-certificates")
	}
	t[certificates] = Entry{Type: tar.TypeReg, Mode: 0o644, Data: all.Bytes()}
	return nil
}

// parents adds the folders above each entry.
func (t Tree) parents() {
	for _, name := range t.names() {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, there := t[dir]; !there {
				t[dir] = Entry{Type: tar.TypeDir, Mode: 0o755}
			}
		}
	}
}

func (t Tree) names() []string {
	names := make([]string, 0, len(t))
	for n := range t {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Write writes the tree as a tar, sorted, with one time for all, owned by root.
// Hard links come last, because they name a file before them.
func (t Tree) Write(w io.Writer, when time.Time) error {
	archive := tar.NewWriter(w)
	for _, links := range []bool{false, true} {
		for _, name := range t.names() {
			e := t[name]
			if (e.Type == tar.TypeLink) != links {
				continue
			}
			h := &tar.Header{Typeflag: e.Type, Name: name, Mode: e.Mode, Linkname: e.Link, Size: int64(len(e.Data)), ModTime: when, Format: tar.FormatPAX}
			if e.Type == tar.TypeDir {
				h.Name += "/"
			}
			if err := archive.WriteHeader(h); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if _, err := archive.Write(e.Data); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return archive.Close()
}
