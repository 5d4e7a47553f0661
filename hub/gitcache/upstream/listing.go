package upstream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Ref is one ref of a server.
type Ref struct {
	Name string // full name
	ID   string
}

// Listing is what a server reported beside its refs.
type Listing struct {
	Format  string // of object ids: sha1 or sha256
	Default string // full name of the default branch; empty when the server did not report it
	Count   int    // refs that were read
}

// maxRefs limits how many refs one repository may have.
const maxRefs = 2_000_000

// advertisement is the answer to info/refs.
type advertisement struct {
	Listing
	version2 bool
	lsRefs   bool
}

// readAdvertisement reads a server's capabilities, and its refs where it speaks
// an older protocol.
func readAdvertisement(r *bufio.Reader, prefixes []string, see func(Ref) error) (advertisement, error) {
	a := advertisement{Listing: Listing{Format: "sha1"}}
	p, err := readPacket(r)
	if err == nil && strings.HasPrefix(p.text, "# service=") {
		if p, err = readPacket(r); err == nil && p.flush {
			p, err = readPacket(r)
		}
	}
	if err != nil {
		return a, err
	}
	if p.text == "version 2" {
		a.version2 = true
		return a, a.capabilities(r)
	}
	return a, a.older(r, p, prefixes, see)
}

func (a *advertisement) capabilities(r *bufio.Reader) error {
	for {
		p, err := readPacket(r)
		if err != nil || p.flush {
			return unexpected(err)
		}
		key, value, _ := strings.Cut(p.text, "=")
		switch key {
		case "ls-refs":
			a.lsRefs = true
		case "object-format":
			a.Format = value
		}
	}
}

// older reads the refs that protocols 0 and 1 list at once.
func (a *advertisement) older(r *bufio.Reader, p packet, prefixes []string, see func(Ref) error) error {
	for first := true; !p.flush; first = false {
		line, caps, _ := strings.Cut(p.text, "\x00")
		if first {
			a.older0(caps)
		}
		id, name, ok := strings.Cut(line, " ")
		switch {
		case line == "version 1":
		case !ok || !IsID(id):
			return fmt.Errorf("%.80q is not a ref", line)
		case name == "capabilities^{}" || strings.HasSuffix(name, "^{}"):
		default:
			if err := a.seen(Ref{Name: name, ID: id}, prefixes, see); err != nil {
				return err
			}
		}
		var err error
		if p, err = readPacket(r); err != nil {
			return unexpected(err)
		}
	}
	return nil
}

// older0 reads the capabilities of an older protocol.
func (a *advertisement) older0(caps string) {
	for c := range strings.FieldsSeq(caps) {
		if f, ok := strings.CutPrefix(c, "object-format="); ok {
			a.Format = f
		}
		if target, ok := strings.CutPrefix(c, "symref=HEAD:"); ok && usableRef(target) {
			a.Default = target
		}
	}
}

// seen passes on a valid ref under the prefixes.
func (l *Listing) seen(r Ref, prefixes []string, see func(Ref) error) error {
	if !usableRef(r.Name) || !coveredBy(r.Name, prefixes) {
		return nil
	}
	if l.Count++; l.Count > maxRefs {
		return fmt.Errorf("more than %d refs", maxRefs)
	}
	return see(r)
}

// lsRefsRequest returns the request for the refs under some prefixes, and for
// the default branch.
func lsRefsRequest(format string, prefixes []string) string {
	var b strings.Builder
	writePacket(&b, "command=ls-refs")
	writePacket(&b, "agent=axle")
	writePacket(&b, "object-format=%s", format)
	b.WriteString("0001")
	writePacket(&b, "symrefs")
	writePacket(&b, "ref-prefix HEAD")
	for _, p := range prefixes {
		writePacket(&b, "ref-prefix %s", p)
	}
	b.WriteString("0000")
	return b.String()
}

// readRefs reads the answer to lsRefsRequest. An answer without its end is an
// error: a truncated list would look like deleted refs.
func readRefs(r *bufio.Reader, l *Listing, prefixes []string, see func(Ref) error) error {
	for {
		p, err := readPacket(r)
		if err != nil {
			return unexpected(err)
		}
		if p.flush {
			return nil
		}
		id, rest, ok := strings.Cut(p.text, " ")
		name, attributes, _ := strings.Cut(rest, " ")
		if !ok || name == "" || !IsID(id) {
			return fmt.Errorf("%.80q is not a ref", p.text)
		}
		if name == "HEAD" {
			if target, ok := strings.CutPrefix(attributes, "symref-target:"); ok && usableRef(target) {
				l.Default = strings.Clone(target)
			}
			continue
		}
		if err := l.seen(Ref{Name: name, ID: id}, prefixes, see); err != nil {
			return err
		}
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// coveredBy reports whether a name is under one of the prefixes.
func coveredBy(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// ours is the prefix of this program's own refs in mirrors.
const ours = "refs/axle/"

// usableRef reports whether a name under refs/ is one that git would accept. A
// server's listing is untrusted input.
func usableRef(name string) bool {
	rest, ok := strings.CutPrefix(name, "refs/")
	if !ok || rest == "" || strings.HasPrefix(name, ours) || len(name) > 1024 {
		return false
	}
	if strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return strings.Contains(rest, "/") && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' })
}

// IsID reports whether s is a full object id in lower-case hex.
func IsID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
