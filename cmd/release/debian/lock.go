package debian

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Lock is the exact list of packages of an image.
type Lock struct {
	// Suite is the release of Debian, such as trixie.
	Suite string
	// Taken is when the indexes were read: the snapshot that still has the packages
	// after the mirrors have dropped them.
	Taken time.Time
	// Want are the packages asked for, Leave those that are left out although one of
	// them depends on them.
	Want, Leave []string
	// Packages are sorted by architecture and name.
	Packages []Package
}

// Package is one file of the archive.
type Package struct {
	// Arch is the architecture of the image: a package for all has one entry for each.
	Arch, Name, Version string
	// Archive is debian or debian-security, Path the file in it.
	Archive, Path string
	SHA256        string
	Size          int64
}

const lockHead = `# The Debian packages of our images: exact versions and content. Written by make image-lock.
# Git wants perl and a manual, which the hub needs not: leave says so.
`

// ReadLock reads a lock file. An error names the line.
func ReadLock(file string) (*Lock, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	l, err := parseLock(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%w; make image-lock writes it anew", file, err)
	}
	return l, nil
}

func parseLock(data []byte) (*Lock, error) {
	l := &Lock{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		f := strings.Fields(lines.Text())
		if len(f) == 0 || f[0][0] == '#' {
			continue
		}
		if err := l.line(f); err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if l.Suite == "" || l.Taken.IsZero() || len(l.Packages) == 0 {
		return nil, fmt.Errorf("1: no suite, no time or no packages")
	}
	return l, nil
}

func (l *Lock) line(f []string) (err error) {
	switch {
	case f[0] == "suite" && len(f) == 2:
		l.Suite = f[1]
	case f[0] == "taken" && len(f) == 2:
		l.Taken, err = time.Parse(time.RFC3339, f[1])
	case f[0] == "want":
		l.Want = f[1:]
	case f[0] == "leave":
		l.Leave = f[1:]
	case f[0] == "package" && len(f) == 8:
		p := Package{Arch: f[1], Name: f[2], Version: f[3], Archive: f[4], Path: f[5], SHA256: f[6]}
		if p.Size, err = strconv.ParseInt(f[7], 10, 64); err != nil {
			return fmt.Errorf("the size of %s is no number: %s", p.Name, f[7])
		}
		if sum, err := hex.DecodeString(p.SHA256); err != nil || len(sum) != 32 {
			return fmt.Errorf("%s has no SHA-256: %s", p.Name, p.SHA256)
		}
		if path.Clean("/"+p.Path) != "/"+p.Path || !strings.HasPrefix(p.Path, "pool/") {
			return fmt.Errorf("%s lies outside the archive's pool: %s", p.Name, p.Path)
		}
		l.Packages = append(l.Packages, p)
	default:
		return fmt.Errorf("not a line of a lock: %s", strings.Join(f, " "))
	}
	return err
}

// Format is the text of the lock.
func (l *Lock) Format() []byte {
	slices.SortFunc(l.Packages, func(a, b Package) int { return cmp.Or(cmp.Compare(a.Arch, b.Arch), cmp.Compare(a.Name, b.Name)) })
	var b bytes.Buffer
	fmt.Fprintf(&b, "%ssuite %s\ntaken %s\nwant %s\nleave %s\n", lockHead, l.Suite, l.Taken.UTC().Format(time.RFC3339), strings.Join(l.Want, " "), strings.Join(l.Leave, " "))
	for _, p := range l.Packages {
		fmt.Fprintf(&b, "package %s %s %s %s %s %s %d\n", p.Arch, p.Name, p.Version, p.Archive, p.Path, p.SHA256, p.Size)
	}
	return b.Bytes()
}

// For returns the packages of an architecture, all of them if no names are given.
func (l *Lock) For(arch string, names ...string) ([]Package, error) {
	var out []Package
	for _, p := range l.Packages {
		if p.Arch == arch && (len(names) == 0 || slices.Contains(names, p.Name)) {
			out = append(out, p)
		}
	}
	if len(out) == 0 || (len(names) > 0 && len(out) != len(names)) {
		return nil, fmt.Errorf("the lock lacks packages for %s: %s", arch, strings.Join(names, " "))
	}
	return out, nil
}
