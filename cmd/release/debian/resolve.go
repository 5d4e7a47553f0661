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
	debversion "github.com/knqyf263/go-deb-version"
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

// Resolve makes a lock: for each architecture the wanted packages of a suite with all
// they depend on, in their newest versions. The indexes must be signed by a key of
// the keyring file, which Debian has as debian-archive-keyring.gpg.
func Resolve(ctx context.Context, s Store, suite, keyring string, arches, want, leave []string, now time.Time) (*Lock, error) {
	f, err := os.Open(keyring)
	if err != nil {
		return nil, fmt.Errorf("Debian's keys: %w; the package debian-archive-keyring has them", err)
	}
	defer f.Close()
	keys, err := openpgp.ReadKeyRing(f)
	if err != nil {
		return nil, fmt.Errorf("Debian's keys in %s: %w", keyring, err)
	}
	l := &Lock{Suite: suite, Taken: now.UTC().Truncate(time.Second), Want: want, Leave: leave}
	for _, arch := range arches {
		known := map[string]candidate{}
		for _, source := range [][2]string{{"debian", suite}, {"debian", suite + "-updates"}, {"debian-security", suite + "-security"}} {
			if err := s.index(ctx, keys, source[0], source[1], arch, known); err != nil {
				return nil, fmt.Errorf("%s %s %s: %w", source[0], source[1], arch, err)
			}
		}
		names, err := closure(known, want, leave)
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
	a, err := debversion.NewVersion(p["Version"])
	if err != nil {
		return false
	}
	b, err := debversion.NewVersion(than["Version"])
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
