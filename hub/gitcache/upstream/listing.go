package upstream

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Ref is one name that a server shows.
type Ref struct {
	Name string // in full
	ID   string
	// Peeled is the object behind an annotated tag; else empty.
	Peeled string
}

// Listing is what a server showed.
type Listing struct {
	Refs   []Ref  // sorted by name; only names under the asked prefixes
	Format string // of object ids: sha1 or sha256
}

// maxRefs bounds how many refs one repository may show.
const maxRefs = 500_000

// advertisement is the answer to info/refs.
type advertisement struct {
	version2 bool
	format   string
	lsRefs   bool
	refs     []Ref // of older protocols
}

// readAdvertisement reads what a server says of itself.
func readAdvertisement(r *bufio.Reader) (advertisement, error) {
	a := advertisement{format: "sha1"}
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
	return a, a.older(r, p)
}

func (a *advertisement) capabilities(r *bufio.Reader) error {
	for {
		p, err := readPacket(r)
		if err != nil || p.flush {
			return err
		}
		key, value, _ := strings.Cut(p.text, "=")
		switch key {
		case "ls-refs":
			a.lsRefs = true
		case "object-format":
			a.format = value
		}
	}
}

// older reads the refs that protocol 0 and 1 list at once.
func (a *advertisement) older(r *bufio.Reader, p packet) error {
	for first := true; !p.flush; first = false {
		line, caps, _ := strings.Cut(p.text, "\x00")
		if first {
			for c := range strings.FieldsSeq(caps) {
				if f, ok := strings.CutPrefix(c, "object-format="); ok {
					a.format = f
				}
			}
		}
		id, name, ok := strings.Cut(line, " ")
		switch {
		case line == "version 1":
		case !ok || !IsID(id):
			return fmt.Errorf("%.80q is no ref", line)
		case name == "capabilities^{}":
		case strings.HasSuffix(name, "^{}"):
			if n := len(a.refs); n > 0 && a.refs[n-1].Name == strings.TrimSuffix(name, "^{}") {
				a.refs[n-1].Peeled = id
			}
		default:
			a.refs = append(a.refs, Ref{Name: name, ID: id})
		}
		var err error
		if p, err = readPacket(r); err != nil {
			return unexpected(err)
		}
	}
	return nil
}

// lsRefsRequest is the question for the refs under some prefixes; all of them
// when there is none.
func lsRefsRequest(format string, prefixes []string) string {
	var b strings.Builder
	writePacket(&b, "command=ls-refs")
	writePacket(&b, "agent=axle")
	writePacket(&b, "object-format=%s", format)
	b.WriteString("0001")
	writePacket(&b, "peel")
	for _, p := range prefixes {
		writePacket(&b, "ref-prefix %s", p)
	}
	b.WriteString("0000")
	return b.String()
}

// readRefs reads the answer to lsRefsRequest. An answer without its end is an
// error: a cut list would look like deleted refs.
func readRefs(r *bufio.Reader) ([]Ref, error) {
	var refs []Ref
	for {
		p, err := readPacket(r)
		if err != nil {
			return nil, unexpected(err)
		}
		if p.flush {
			return refs, nil
		}
		fields := strings.Fields(p.text)
		if len(fields) < 2 || !IsID(fields[0]) {
			return nil, fmt.Errorf("%.80q is no ref", p.text)
		}
		ref := Ref{ID: fields[0], Name: fields[1]}
		for _, f := range fields[2:] {
			if id, ok := strings.CutPrefix(f, "peeled:"); ok && IsID(id) {
				ref.Peeled = id
			}
		}
		if refs = append(refs, ref); len(refs) > maxRefs {
			return nil, fmt.Errorf("more than %d refs", maxRefs)
		}
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// under keeps the usable refs below the prefixes, sorted.
func under(refs []Ref, prefixes []string) []Ref {
	out := refs[:0:0]
	for _, r := range refs {
		if usableRef(r.Name) && (len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(r.Name, p) })) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b Ref) bool { return a.Name == b.Name })
}

// usableRef holds for branches and tags whose names git itself would take.
// What a server lists is input: a name is never trusted to be well formed.
func usableRef(name string) bool {
	rest, ok := strings.CutPrefix(name, "refs/heads/")
	if !ok {
		rest, ok = strings.CutPrefix(name, "refs/tags/")
	}
	if !ok || rest == "" || len(name) > 1024 || strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' })
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
