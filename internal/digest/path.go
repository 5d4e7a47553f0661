package digest

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxPathBytes bounds one path. File systems stop at 4,096, including the folder it
// is unpacked into.
const MaxPathBytes = 2048

// MaxNameBytes bounds one segment of a path; no common file system allows more.
const MaxNameBytes = 255

// PathError says why a path, or a link, cannot be part of any content.
type PathError struct {
	Path   string
	Reason string
}

// Error quotes the path, because it may contain anything.
func (e *PathError) Error() string { return fmt.Sprintf("path %.200q: %s", e.Path, e.Reason) }

// CheckPath returns a *PathError unless p is a clean relative path of valid UTF-8
// without control characters. Nothing is normalised.
func CheckPath(p string) error {
	switch {
	case p == "":
		return &PathError{p, "is empty"}
	case len(p) > MaxPathBytes:
		return &PathError{p, fmt.Sprintf("is longer than %d bytes", MaxPathBytes)}
	case !utf8.ValidString(p):
		return &PathError{p, "is not valid UTF-8"}
	case strings.ContainsFunc(p, unicode.IsControl):
		return &PathError{p, "holds a control character"}
	case p[0] == '/':
		return &PathError{p, "is absolute"}
	}
	for name := range strings.SplitSeq(p, "/") {
		switch {
		case name == "":
			return &PathError{p, "has an empty segment"}
		case name == "." || name == "..":
			return &PathError{p, fmt.Sprintf("has the segment %q", name)}
		case len(name) > MaxNameBytes:
			return &PathError{p, fmt.Sprintf("has a name longer than %d bytes", MaxNameBytes)}
		}
	}
	return nil
}

// CheckLink returns a *PathError unless a link at p with this target stays inside the
// content. Only leading ".." segments are allowed: after a name, which may itself be
// a link to a higher folder, ".." could leave the root although the text of the
// target does not.
func CheckLink(p, target string) error {
	switch {
	case target == "":
		return &PathError{p, "is a link to nothing"}
	case len(target) > MaxPathBytes:
		return &PathError{p, fmt.Sprintf("is a link whose target is longer than %d bytes", MaxPathBytes)}
	case !utf8.ValidString(target) || strings.ContainsFunc(target, unicode.IsControl):
		return &PathError{p, "is a link whose target is not plain UTF-8 text"}
	case path.IsAbs(target):
		return &PathError{p, fmt.Sprintf("is a link to the absolute path %.200q; use a relative one", target)}
	}
	depth, named := strings.Count(p, "/"), false
	for name := range strings.SplitSeq(target, "/") {
		switch name {
		case "", ".":
		case "..":
			if named {
				return &PathError{p, fmt.Sprintf("is a link to %.200q, which has \"..\" after a name; write the direct path", target)}
			}
			if depth--; depth < 0 {
				return &PathError{p, fmt.Sprintf("is a link to %.200q, which is outside the content", target)}
			}
		default:
			named = true
		}
	}
	return nil
}

// PathSet remembers paths and rejects those that cannot exist together on every file
// system.
type PathSet struct {
	// seen maps a folded path, of a file or of a folder above one, to its spelling
	// and kind.
	seen map[string]spelling
}

type spelling struct {
	path   string
	folder bool
}

// NewPathSet returns an empty set.
func NewPathSet() *PathSet { return &PathSet{seen: map[string]spelling{}} }

// Add checks p by itself and against the set, and adds it.
func (s *PathSet) Add(p string) error {
	if err := CheckPath(p); err != nil {
		return err
	}
	folded := fold(p)
	if old, ok := s.seen[folded]; ok {
		return clash(p, p, old, false)
	}
	// Folding keeps slashes but may change lengths, so the folders are cut from both
	// spellings in parallel.
	dir, foldedDir := p, folded
	for {
		i, j := strings.LastIndexByte(dir, '/'), strings.LastIndexByte(foldedDir, '/')
		if i < 0 {
			break
		}
		dir, foldedDir = dir[:i], foldedDir[:j]
		if old, ok := s.seen[foldedDir]; ok {
			if old.path != dir || !old.folder {
				return clash(p, dir, old, true)
			}
			break // its own folders were checked when it was added
		}
		s.seen[foldedDir] = spelling{path: dir, folder: true}
	}
	s.seen[folded] = spelling{path: p}
	return nil
}

func clash(p, part string, old spelling, folder bool) error {
	switch {
	case old.path != part:
		return &PathError{p, fmt.Sprintf("differs from %.200q in case only", old.path)}
	case old.folder != folder:
		return &PathError{p, fmt.Sprintf("%.200q is both a file and a folder", part)}
	}
	return &PathError{p, "appears twice"}
}

// fold maps names that a case-insensitive file system considers equal to one text.
// Upper followed by lower unites letters with three forms.
func fold(s string) string {
	ascii, plain := true, true
	for i := range len(s) {
		c := s[i]
		ascii = ascii && c < utf8.RuneSelf
		plain = plain && (c < 'A' || c > 'Z')
	}
	if ascii {
		if plain {
			return s
		}
		return strings.ToLower(s)
	}
	return strings.ToLower(strings.ToUpper(s))
}
