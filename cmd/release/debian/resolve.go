package debian

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/knqyf263/go-deb-version"
	"github.com/ulikunitz/xz"
)

const maxIndex = 256 << 20

// stanza is a paragraph of an index by field name.
type stanza map[string]string

// candidate is a package with the archive that has it.
type candidate struct {
	fields  stanza
	archive string
}

// Wish says what a lock is made for. All fields are required.
type Wish struct {
	Suite string
	// Keyring is a file with Debian's keys, there debian-archive-keyring.gpg. The
	// indexes must be signed by one of them.
	Keyring             string
	Arches, Want, Leave []string
}

// Resolve makes a lock: for each architecture the wanted packages of a suite with all
// they depend on, in their newest versions.
func Resolve(ctx context.Context, s Store, w Wish, now time.Time) (*Lock, error) {
	f, err := os.Open(w.Keyring)
	if err != nil {
		return nil, fmt.Errorf("Debian's keys: %w; the package debian-archive-keyring has them", err)
	}
	defer f.Close()
	keys, err := openpgp.ReadKeyRing(f)
	if err != nil {
		return nil, fmt.Errorf("Debian's keys in %s: %w", w.Keyring, err)
	}
	l := &Lock{Suite: w.Suite, Taken: now.UTC().Truncate(time.Second), Want: w.Want, Leave: w.Leave}
	for _, arch := range w.Arches {
		known := map[string]candidate{}
		for _, source := range [][2]string{{"debian", w.Suite}, {"debian", w.Suite + "-updates"}, {"debian-security", w.Suite + "-security"}} {
			if err := s.index(ctx, keys, source[0], source[1], arch, known); err != nil {
				return nil, fmt.Errorf("%s %s %s: %w", source[0], source[1], arch, err)
			}
		}
		names, err := closure(known, w.Want, w.Leave)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arch, err)
		}
		for _, name := range names {
			c := known[name]
			size, err := strconv.ParseInt(c.fields["Size"], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: size %q", name, c.fields["Size"])
			}
			l.Packages = append(l.Packages, Package{Arch: arch, Name: name, Version: c.fields["Version"], Archive: c.archive, Path: c.fields["Filename"], SHA256: c.fields["SHA256"], Size: size})
		}
	}
	return l, nil
}

// index reads the packages of a suite, keeping the newest version of each.
func (s Store) index(ctx context.Context, keys openpgp.EntityList, archive, suite, arch string, known map[string]candidate) error {
	base := strings.TrimSuffix(s.Mirror, "/")
	if base == "" {
		base = defaultBase
	}
	base += "/" + archive + "/dists/" + suite + "/"
	signed, err := s.fetch(ctx, base+"InRelease", maxIndex)
	if err != nil {
		return err
	}
	block, _ := clearsign.Decode(signed)
	if block == nil {
		return fmt.Errorf("%sInRelease is not a signed text", base)
	}
	if _, err := block.VerifySignature(keys, nil); err != nil {
		return fmt.Errorf("%sInRelease: %w", base, err)
	}
	file := "main/binary-" + arch + "/Packages.xz"
	packed, err := s.fetch(ctx, base+file, maxIndex)
	if err != nil {
		return err
	}
	if !listed(string(block.Bytes), sum(packed), len(packed), file) {
		return fmt.Errorf("%s%s is not the file that InRelease names; the mirror may be updating: try again", base, file)
	}
	r, err := xz.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxIndex))
	if err != nil {
		return err
	}
	for paragraph := range strings.SplitSeq(string(text), "\n\n") {
		p := parse(paragraph)
		if p["Package"] == "" {
			continue
		}
		if newer(p, known[p["Package"]].fields) {
			known[p["Package"]] = candidate{p, archive}
		}
	}
	return nil
}

// listed says whether a Release file names a file with that hash and size.
func listed(release, hash string, size int, file string) bool {
	for line := range strings.SplitSeq(release, "\n") {
		if f := strings.Fields(line); len(f) == 3 && f[2] == file && f[0] == hash && f[1] == strconv.Itoa(size) {
			return true
		}
	}
	return false
}

func newer(p, than stanza) bool {
	if than == nil {
		return true
	}
	a, err := version.NewVersion(p["Version"])
	if err != nil {
		return false
	}
	b, err := version.NewVersion(than["Version"])
	return err != nil || a.GreaterThan(b)
}

func parse(paragraph string) stanza {
	out := stanza{}
	for line := range strings.SplitSeq(paragraph, "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") {
			out[name] = strings.TrimSpace(value)
		}
	}
	return out
}

// closure follows dependencies: of alternatives the first that exists.
func closure(known map[string]candidate, want, leave []string) ([]string, error) {
	var out []string
	todo := slices.Clone(want)
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if slices.Contains(out, name) || slices.Contains(leave, name) {
			continue
		}
		c, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("no package %s", name)
		}
		out = append(out, name)
		for group := range strings.SplitSeq(c.fields["Pre-Depends"]+","+c.fields["Depends"], ",") {
			if strings.TrimSpace(group) == "" {
				continue
			}
			needed := first(known, group, leave)
			if needed == "" {
				return nil, fmt.Errorf("%s depends on %s, which the archive lacks: leave it out or want another", name, strings.TrimSpace(group))
			}
			todo = append(todo, needed)
		}
	}
	slices.Sort(out)
	return out, nil
}

func first(known map[string]candidate, group string, leave []string) string {
	for alternative := range strings.SplitSeq(group, "|") {
		name, _, _ := strings.Cut(strings.Fields(alternative)[0], ":")
		if _, ok := known[name]; ok || slices.Contains(leave, name) {
			return name
		}
	}
	return ""
}
