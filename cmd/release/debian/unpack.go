package debian

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

const maxUnpacked = 1 << 30

// Tree is the content of a file system by path, without a leading slash.
type Tree map[string]Entry

// Entry is a file, a folder or a link.
type Entry struct {
	// Type is tar.TypeReg, TypeDir, TypeSymlink or TypeLink.
	Type byte
	// Mode has the permission bits alone: no set-uid.
	Mode int64
	Data []byte
	Link string
}

// dropped are the folders of documents and translations that no program reads.
var dropped = []string{"usr/share/man/", "usr/share/info/", "usr/share/locale/", "usr/share/lintian/", "usr/share/bash-completion/", "usr/share/bug/",
	"usr/share/perl5/", "usr/share/gitweb/", "usr/share/doc-base/", "usr/lib/git-core/git-gui", "var/lib/git/"}

// keep says whether the image has use for a file. Licences stay.
func keep(name string) bool {
	if strings.HasPrefix(name, "usr/share/doc/") {
		return strings.HasSuffix(name, "/copyright")
	}
	for _, d := range dropped {
		if strings.HasPrefix(name, d) {
			return false
		}
	}
	return true
}

// Unpack adds the files of a package, and its record below var/lib/dpkg/status.d,
// where scanners look.
func (t Tree) Unpack(p Package, deb []byte) error {
	parts, err := members(deb)
	if err != nil {
		return fmt.Errorf("package %s: %w", p.Name, err)
	}
	for name, data := range parts {
		var each func(*tar.Header, io.Reader) error
		switch {
		case strings.HasPrefix(name, "data.tar"):
			each = t.file
		case strings.HasPrefix(name, "control.tar"):
			each = func(h *tar.Header, r io.Reader) error {
				if path.Clean(h.Name) != "control" {
					return nil
				}
				control, err := io.ReadAll(r)
				t["var/lib/dpkg/status.d/"+p.Name] = Entry{Type: tar.TypeReg, Mode: 0o644, Data: control}
				return err
			}
		default:
			continue
		}
		if err := walk(name, data, each); err != nil {
			return fmt.Errorf("package %s: %s: %w", p.Name, name, err)
		}
	}
	return nil
}

// members splits the ar archive that a package is.
func members(deb []byte) (map[string][]byte, error) {
	const magic, head = "!<arch>\n", 60
	rest, ok := bytes.CutPrefix(deb, []byte(magic))
	if !ok {
		return nil, fmt.Errorf("not a Debian package")
	}
	out := map[string][]byte{}
	for len(rest) > 0 {
		if len(rest) < head {
			return nil, fmt.Errorf("cut short")
		}
		name := strings.TrimRight(string(rest[:16]), " /")
		size, err := strconv.ParseInt(strings.TrimSpace(string(rest[48:58])), 10, 64)
		rest = rest[head:]
		if err != nil || size < 0 || size > int64(len(rest)) {
			return nil, fmt.Errorf("member %q: its size is wrong", name)
		}
		out[name] = rest[:size]
		rest = rest[min(size+size%2, int64(len(rest))):]
	}
	if len(out) < 3 {
		return nil, fmt.Errorf("lacks debian-binary, control.tar or data.tar")
	}
	return out, nil
}

// walk calls each for every entry of a compressed tar.
func walk(name string, data []byte, each func(*tar.Header, io.Reader) error) error {
	var r io.Reader = bytes.NewReader(data)
	var err error
	switch path.Ext(name) {
	case ".xz":
		r, err = xz.NewReader(r)
	case ".gz":
		r, err = gzip.NewReader(r)
	case ".zst":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1)); err == nil {
			defer z.Close()
			r = z
		}
	case ".tar":
	default:
		return fmt.Errorf("unknown compression")
	}
	if err != nil {
		return err
	}
	archive := tar.NewReader(io.LimitReader(r, maxUnpacked))
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(h, archive); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

// file adds an entry. Debian's /bin, /lib and so on are links to /usr: a package that
// still has files there puts them into /usr.
func (t Tree) file(h *tar.Header, r io.Reader) error {
	name := inUsr(strings.TrimPrefix(path.Clean("/"+h.Name), "/"))
	if name == "" || !keep(name) {
		return nil
	}
	e := Entry{Type: h.Typeflag, Mode: h.Mode & 0o777, Link: h.Linkname}
	switch h.Typeflag {
	case tar.TypeDir:
		if _, there := t[name]; there || !keep(name+"/") {
			return nil
		}
	case tar.TypeReg:
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		e.Data = data
	case tar.TypeSymlink:
	case tar.TypeLink:
		e.Link = inUsr(strings.TrimPrefix(path.Clean("/"+h.Linkname), "/"))
	default:
		return fmt.Errorf("neither a file nor a folder nor a link")
	}
	t[name] = e
	return nil
}

// merged are the folders that are links into /usr.
var merged = []string{"bin", "sbin", "lib", "lib64"}

func inUsr(name string) string {
	for _, m := range merged {
		if name == m || strings.HasPrefix(name, m+"/") {
			return "usr/" + name
		}
	}
	return name
}
