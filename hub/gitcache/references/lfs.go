package references

import (
	"bufio"
	"bytes"
	"errors"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// MaxPointer is the size above which a file is not a Git LFS pointer.
const MaxPointer = 1024

// Pointer stands in a repository for a file that is stored elsewhere.
type Pointer struct {
	OID  string // SHA-256, in hex
	Size int64
	// Extension is the name of the git-lfs extension that made the file, a program of its authors.
	Extension string
}

// pointerVersions are the versions that git-lfs reads.
var pointerVersions = []string{"https://git-lfs.github.com/spec/v1", "https://hawser.github.com/spec/v1", "http://git-media.io/v/2"}

// ParsePointer parses a Git LFS pointer. Like git-lfs it takes one with the line ends of Windows,
// which merges on Windows leave.
func ParsePointer(raw []byte) (p Pointer, ok bool) {
	if len(raw) > MaxPointer || !bytes.HasPrefix(raw, []byte("version ")) {
		return p, false
	}
	p.Size = -1
	for line := range strings.Lines(string(raw)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), " ")
		if name, ok := strings.CutPrefix(key, "ext-"); ok && p.Extension == "" {
			_, p.Extension, _ = strings.Cut(name, "-")
		}
		switch key {
		case "version":
			if !slices.Contains(pointerVersions, value) {
				return p, false
			}
		case "oid":
			p.OID = strings.TrimPrefix(value, "sha256:")
		case "size":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return p, false
			}
			p.Size = n
		}
	}
	return p, rule.SHA256.Valid(p.OID) && p.Size >= 0
}

// Attributes are the lines of one .gitattributes that set the filter.
type Attributes []attribute

type attribute struct {
	pattern *cost.Pattern
	// begins and ends are what every name has that matches.
	begins, ends string
	base         bool // matches only the last part of the path
	lfs          bool
}

// maxAttributes limits the lines that are kept of one file.
const maxAttributes = 10_000

// maxPatterns is the size of all patterns of one file, about 8 MiB.
const maxPatterns = 100_000

// ParseAttributes parses a .gitattributes. Invalid when its patterns are too large.
func ParseAttributes(raw []byte) (out Attributes, err error) {
	if len(raw) > maxText {
		return nil, nil
	}
	size := 0
	macros := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, maxText)
	for lines.Scan() && len(out) < maxAttributes {
		pattern, words := attributeLine(strings.TrimLeft(lines.Text(), " \t"))
		if pattern == "" {
			continue
		}
		lfs, said := false, false
		for _, w := range words {
			switch {
			case w == "filter=lfs":
				lfs, said = true, true
			case w == "-filter", w == "!filter", w == "filter", strings.HasPrefix(w, "filter="):
				lfs, said = false, true
			case macros[w]:
				lfs, said = true, true
			}
		}
		if name, ok := strings.CutPrefix(pattern, "[attr]"); ok {
			macros[name] = lfs
			continue
		}
		if !said || strings.HasPrefix(pattern, "!") || strings.HasSuffix(pattern, "/") {
			continue
		}
		if out, err = out.with(pattern, lfs, &size); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// with adds a pattern; size is that of all. One that is no pattern is left out.
func (a Attributes) with(pattern string, lfs bool, size *int) (Attributes, error) {
	trimmed := strings.TrimPrefix(pattern, "/")
	re, err := cost.New(glob(trimmed))
	if errors.As(err, new(*syntax.Error)) {
		return a, nil
	}
	if err == nil {
		if *size += re.Size(); *size > maxPatterns {
			err = errors.New("all patterns of the file together are too large")
		}
	}
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the pattern %.100q: %w; use fewer or shorter patterns", pattern, err)
	}
	return append(a, attribute{re, literal(trimmed, false), literal(trimmed, true), !strings.Contains(pattern, "/"), lfs}), nil
}

// special are the characters of a git pattern that do not stand for themselves.
const special = "*?[]\\"

// literal is what a git pattern begins, or ends, with before something special.
func literal(pattern string, end bool) string {
	if at := strings.LastIndexAny(pattern, special); end {
		tail := pattern[at+1:]
		if strings.HasSuffix(pattern[:at+1], "**") {
			tail = strings.TrimPrefix(tail, "/") // no folder at all has none
		}
		return tail
	}
	if at := strings.IndexAny(pattern, special); at >= 0 {
		return pattern[:at]
	}
	return pattern
}

// attributeLine splits a line into pattern and attributes.
func attributeLine(line string) (pattern string, words []string) {
	if line == "" || line[0] == '#' {
		return "", nil
	}
	if line[0] == '"' {
		if end := strings.Index(line[1:], `"`); end > 0 {
			return line[1 : end+1], strings.Fields(line[end+2:])
		}
	}
	if words = strings.Fields(line); len(words) == 0 {
		return "", nil
	}
	return words[0], words[1:]
}

// linesPerStep is how many lines are compared by their beginnings and ends in a step.
const linesPerStep = 256

// LFS reports whether a file, by its path from the folder of the
// .gitattributes, goes through LFS, and what that took; said is false when no line
// matches it. An error says that it would take more than is left.
func (a Attributes) LFS(file string, left int) (lfs, said bool, steps int, err error) {
	steps = 1 + len(a)/linesPerStep
	for _, line := range slices.Backward(a) { // the last one decides
		name := file
		if line.base {
			name = path.Base(file)
		}
		if !strings.HasPrefix(name, line.begins) || !strings.HasSuffix(name, line.ends) {
			continue
		}
		matches, took, err := line.pattern.Match(name, left-steps)
		if err != nil {
			return false, false, steps, err
		}
		if steps += took; matches {
			return line.lfs, true, steps, nil
		}
	}
	return false, false, steps, nil
}

// glob converts a git pattern into a regular expression.
func glob(p string) string {
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case '*':
			if !strings.HasPrefix(p[i:], "**") {
				b.WriteString(`[^/]*`)
				continue
			}
			i++
			switch {
			case strings.HasPrefix(p[i+1:], "/"):
				b.WriteString(`(?:.*/)?`)
				i++
			default:
				b.WriteString(`.*`)
			}
		case '?':
			b.WriteString(`[^/]`)
		case '[':
			end := strings.IndexByte(p[i+1:], ']')
			if end <= 0 {
				b.WriteString(`\[`)
				continue
			}
			set := p[i+1 : i+1+end]
			negated := set[0] == '!' || set[0] == '^'
			set = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(strings.TrimLeft(set, "!^"))
			if negated {
				set = "^/" + set
			}
			b.WriteString(`[` + set + `]`)
			i += end + 1
		case '\\':
			if i+1 < len(p) {
				i++
				b.WriteString(regexp.QuoteMeta(p[i : i+1]))
			}
		default:
			b.WriteString(regexp.QuoteMeta(p[i : i+1]))
		}
	}
	b.WriteString(`$`)
	return b.String()
}
