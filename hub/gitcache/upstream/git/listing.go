package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/gitref"
	"github.com/axle-cd/axle/internal/gitobject"
)

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
	// formats and agents say that the server offered a format, and to hear of agents. One that
	// does not know a word ends the connection when a request has it (formats: git 2.18 to 2.27).
	formats, agents bool
}

// readAdvertisement reads a server's capabilities, and its refs where it speaks
// an older protocol.
func readAdvertisement(r *bufio.Reader, prefixes []string, see func(gitref.Ref) error) (advertisement, error) {
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
			a.Format, a.formats = value, true
		case "agent":
			a.agents = true
		}
	}
}

// older reads the refs that protocols 0 and 1 list at once.
func (a *advertisement) older(r *bufio.Reader, p packet, prefixes []string, see func(gitref.Ref) error) error {
	for first := true; !p.flush; first = false {
		line, caps, _ := strings.Cut(p.text, "\x00")
		if first {
			a.older0(caps)
		}
		id, name, ok := strings.Cut(line, " ")
		switch {
		case line == "version 1":
		case !ok || !gitobject.IsID(id):
			return fmt.Errorf("%.80q is not a ref", line)
		case name == "capabilities^{}" || strings.HasSuffix(name, "^{}"):
		default:
			if err := a.seen(gitref.Ref{Name: name, ID: id}, prefixes, see); err != nil {
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
		if target, ok := strings.CutPrefix(c, "symref=HEAD:"); ok && gitref.Usable(target) {
			a.Default = target
		}
	}
}

// seen passes on a valid ref under the prefixes.
func (l *Listing) seen(r gitref.Ref, prefixes []string, see func(gitref.Ref) error) error {
	if !gitref.Usable(r.Name) || !gitref.Under(r.Name, prefixes) {
		return nil
	}
	if l.Count++; l.Count > maxRefs {
		return fmt.Errorf("more than %d refs", maxRefs)
	}
	return see(r)
}

// lsRefsRequest returns the request for the refs under some prefixes, and for
// the default branch.
func (a *advertisement) lsRefsRequest(prefixes []string) string {
	var b strings.Builder
	writePacket(&b, "command=ls-refs")
	if a.agents {
		writePacket(&b, "agent=axle")
	}
	if a.formats {
		writePacket(&b, "object-format=%s", a.Format)
	}
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
func readRefs(r *bufio.Reader, l *Listing, prefixes []string, see func(gitref.Ref) error) error {
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
		if !ok || name == "" || !gitobject.IsID(id) {
			return fmt.Errorf("%.80q is not a ref", p.text)
		}
		if name == "HEAD" {
			if target, ok := strings.CutPrefix(attributes, "symref-target:"); ok && gitref.Usable(target) {
				l.Default = strings.Clone(target)
			}
			continue
		}
		if err := l.seen(gitref.Ref{Name: name, ID: id}, prefixes, see); err != nil {
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
