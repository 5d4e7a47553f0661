package references

import (
	"bufio"
	"bytes"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// MaxPointer is the size above which a file is not a Git LFS pointer.
const MaxPointer = 1024

// Pointer stands in a repository for a file that is stored elsewhere.
type Pointer struct {
	OID  string // SHA-256, in hex
	Size int64
}

var oid = regexp.MustCompile(`^[0-9a-f]{64}$`)

// ParsePointer parses a Git LFS pointer.
func ParsePointer(raw []byte) (p Pointer, ok bool) {
	if len(raw) > MaxPointer || !bytes.HasPrefix(raw, []byte("version https://git-lfs.github.com/spec/v1\n")) && !bytes.HasPrefix(raw, []byte("version https://hawser.github.com/spec/v1\n")) {
		return p, false
	}
	p.Size = -1
	for line := range strings.Lines(string(raw)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
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
	return p, oid.MatchString(p.OID) && p.Size >= 0
}

// Attributes are the lines of one .gitattributes that set the filter.
type Attributes []attribute

type attribute struct {
	pattern *regexp.Regexp
	base    bool // matches only the last part of the path
	lfs     bool
}

// maxAttributes limits the lines that are kept of one file.
const maxAttributes = 10_000

// ParseAttributes parses a .gitattributes.
func ParseAttributes(raw []byte) (out Attributes) {
	if len(raw) > maxText {
		return nil
	}
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
		trimmed := strings.TrimPrefix(pattern, "/")
		if re, err := regexp.Compile(glob(trimmed)); err == nil {
			out = append(out, attribute{re, !strings.Contains(pattern, "/"), lfs})
		}
	}
	return out
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

// LFS reports whether a file, by its path from the folder of the
// .gitattributes, goes through LFS; said is false when no line matches it.
func (a Attributes) LFS(file string) (lfs, said bool) {
	for _, line := range a {
		name := file
		if line.base {
			name = path.Base(file)
		}
		if line.pattern.MatchString(name) {
			lfs, said = line.lfs, true
		}
	}
	return lfs, said
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
