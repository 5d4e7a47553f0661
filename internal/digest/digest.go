package digest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Prefix starts every digest of this format. A new format gets a new prefix.
const Prefix = "axle1:"

// Digest is the name of a folder's content: Prefix and 64 lower-case hex
// digits. The zero value names nothing.
type Digest string

// Type is the kind of one entry, as hashed.
type Type uint8

// The kinds of entries. Directories have no kind: they exist only because they
// contain something.
const (
	File       Type = 0
	Executable Type = 1
	Link       Type = 2
)

// Sum is the SHA-256 of a file's bytes, or of a link's target.
type Sum [sha256.Size]byte

// SumOf returns the Sum of b.
func SumOf(b []byte) Sum { return sha256.Sum256(b) }

// Parse checks that s is a digest of this format.
func Parse(s string) (Digest, error) {
	rest, ok := strings.CutPrefix(s, Prefix)
	if !ok {
		return "", fmt.Errorf("digest %.80q does not start with %q", s, Prefix)
	}
	if len(rest) != 2*sha256.Size || strings.ToLower(rest) != rest {
		return "", fmt.Errorf("digest %.80q is not %d lower-case hex digits after %q", s, 2*sha256.Size, Prefix)
	}
	if _, err := hex.DecodeString(rest); err != nil {
		return "", fmt.Errorf("digest %.80q: %w", s, err)
	}
	return Digest(s), nil
}

// Hex returns the digest without its prefix, usable as a file name.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), Prefix) }

// String returns the digest as text.
func (d Digest) String() string { return string(d) }

// Short returns the first twelve hex digits, for people.
func (d Digest) Short() string {
	h := d.Hex()
	return h[:min(12, len(h))]
}

// MismatchError says that content does not match its digest.
type MismatchError struct {
	Want, Got Digest
}

// Error names both digests.
func (e *MismatchError) Error() string {
	return fmt.Sprintf("content has digest %s, want %s", e.Got, e.Want)
}

// Verify returns a *MismatchError unless got is want.
func Verify(want, got Digest) error {
	if want != got {
		return &MismatchError{Want: want, Got: got}
	}
	return nil
}

type entry struct {
	path string
	kind Type
	sum  Sum
}

// Builder collects the entries of one folder. It is not safe for concurrent
// use.
type Builder struct {
	entries []entry
	paths   *PathSet
}

// New returns an empty Builder.
func New() *Builder { return &Builder{paths: NewPathSet()} }

// Add adds one entry. It rejects, with a *PathError, a path that no tarball may
// contain and a path that conflicts with those already added.
func (b *Builder) Add(path string, kind Type, sum Sum) error {
	if err := b.Claim(path); err != nil {
		return err
	}
	return b.AddClaimed(path, kind, sum)
}

// Claim makes the checks of Add for an entry whose sum is not known yet, so that
// nothing is written for a path that would be rejected. AddClaimed must follow.
func (b *Builder) Claim(path string) error { return b.paths.Add(path) }

// AddClaimed adds an entry whose path was claimed.
func (b *Builder) AddClaimed(path string, kind Type, sum Sum) error {
	if kind > Link {
		return &PathError{Path: path, Reason: fmt.Sprintf("unknown entry type %d", kind)}
	}
	b.entries = append(b.entries, entry{path: path, kind: kind, sum: sum})
	return nil
}

// Digest returns the digest of everything added so far.
func (b *Builder) Digest() Digest {
	slices.SortFunc(b.entries, func(x, y entry) int { return strings.Compare(x.path, y.path) })
	h := sha256.New()
	var head []byte
	for _, e := range b.entries {
		head = binary.BigEndian.AppendUint32(head[:0], uint32(len(e.path)))
		head = append(head, e.path...)
		head = append(head, byte(e.kind))
		head = append(head, e.sum[:]...)
		h.Write(head)
	}
	return Digest(Prefix + hex.EncodeToString(h.Sum(nil)))
}
