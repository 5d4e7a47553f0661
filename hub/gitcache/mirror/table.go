package mirror

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/gitref"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/gitobject"
)

// Table holds what all refs of a mirror pointed at, at one moment. It does not
// change. A ref costs about the bytes of its name and 24 more, an annotated tag
// 24 on top.
type Table struct {
	refs Refs // sorted
	kept []string
	// def is the full name of the default branch, as upstream last reported it.
	def string
	// An annotated tag points at an object that is not a commit: these fields
	// hold the commit that it leads to, or nothing when there is none.
	tags   []uint32 // indexes into refs, sorted
	peeled []byte   // as many ids; all zero means that the ref has no commit
}

// line adds one line of for-each-ref; lines come sorted by name.
func (t *Table) line(line []byte) error {
	f := bytes.SplitN(line, []byte(" "), 5)
	if len(f) != 5 || !gitobject.IsID(string(f[0])) {
		return fmt.Errorf("for-each-ref printed %.100q", line)
	}
	id, name := string(f[0]), string(f[4])
	if rest, ok := strings.CutPrefix(name, keepPrefix); ok {
		t.kept = append(t.kept, rest)
		return nil
	}
	if strings.HasPrefix(name, gitref.Own) {
		return nil
	}
	if err := t.refs.Add(name, id); err != nil {
		return err
	}
	if string(f[1]) == "commit" {
		return nil
	}
	t.tags = append(t.tags, uint32(t.refs.Len()-1))
	if string(f[3]) == "commit" && gitobject.IsID(string(f[2])) {
		raw, err := hex.AppendDecode(t.peeled, f[2])
		t.peeled = raw
		return err
	}
	t.peeled = append(t.peeled, make([]byte, t.refs.size)...)
	return nil
}

// deep returns the indexes of tags of tags, which for-each-ref peels only once.
func (t *Table) deep() []int {
	var out []int
	for n, i := range t.tags {
		if t.peeledID(n) == "" {
			out = append(out, int(i))
		}
	}
	return out
}

// setPeeled sets the commit of the tag at an index of refs.
func (t *Table) setPeeled(index int, id string) {
	if n, ok := slices.BinarySearch(t.tags, uint32(index)); ok && len(id) == 2*t.refs.size {
		raw, err := hex.DecodeString(id)
		if err == nil {
			copy(t.peeled[n*t.refs.size:], raw)
		}
	}
}

// peeledID returns the commit of the n-th annotated tag, empty for none.
func (t *Table) peeledID(n int) string {
	raw := t.peeled[n*t.refs.size : (n+1)*t.refs.size]
	if len(bytes.Trim(raw, "\x00")) == 0 {
		return ""
	}
	return hex.EncodeToString(raw)
}

// Kept returns the kept commits.
func (t *Table) Kept() []string { return t.kept }

// Len returns how many refs there are.
func (t *Table) Len() int { return t.refs.Len() }

// Default returns the full name of upstream's default branch; empty when it was
// never reported.
func (t *Table) Default() string { return t.def }

// Raw returns what a full name points at, without peeling tags; empty when the
// mirror does not have it.
func (t *Table) Raw(name string) string {
	if i, ok := t.refs.find(name); ok {
		return t.refs.ID(i)
	}
	return ""
}

// Full returns the full name that a source's ref means, empty for a full object
// id, which the caller must look up. HEAD is upstream's default branch. A name
// that is both branch and tag is refused unless it is written in full: otherwise
// anybody who may push tags could decide what a branch's followers run.
func (t *Table) Full(ref string) (string, error) {
	if ref == "HEAD" {
		if _, ok := t.refs.find(t.def); ok {
			return t.def, nil
		}
		return "", t.headless()
	}
	if strings.HasPrefix(ref, "refs/") {
		if _, ok := t.refs.find(ref); ok {
			return ref, nil
		}
		return "", t.unknown(ref)
	}
	branch, tag := "refs/heads/"+ref, "refs/tags/"+ref
	_, isBranch := t.refs.find(branch)
	_, isTag := t.refs.find(tag)
	switch {
	case isBranch && isTag:
		return "", errcode.New(errcode.Unprocessable, "ref %q is both a branch and a tag; write %s or %s", ref, branch, tag)
	case isBranch:
		return branch, nil
	case isTag:
		return tag, nil
	case gitobject.IsID(ref):
		return "", nil
	}
	return "", t.unknown(ref)
}

// Resolve finds the commit that a source's ref means, as Full does.
func (t *Table) Resolve(ref string) (commit string, err error) {
	full, err := t.Full(ref)
	if err != nil {
		return "", err
	}
	if full == "" {
		return ref, nil
	}
	i, _ := t.refs.find(full)
	n, tag := slices.BinarySearch(t.tags, uint32(i))
	if !tag {
		return t.refs.ID(i), nil
	}
	if commit = t.peeledID(n); commit == "" {
		return "", errcode.New(errcode.Unprocessable, "ref %q does not point at a commit", ref)
	}
	return commit, nil
}

// headless is the error of HEAD where it leads to no branch. A branch of that name is not
// meant: everybody who may push could make one.
func (t *Table) headless() error {
	why := "its HEAD leads to a branch that does not exist, or to a commit"
	if t.def != "" {
		why = "the last one, " + strings.TrimPrefix(t.def, "refs/heads/") + ", is gone"
	}
	return errcode.New(errcode.Unprocessable, "ref \"HEAD\" means the default branch, and the repository has none (%s); name a branch, or set the default branch there; %s", why, t.branches())
}

// unknown lists a few existing names, since most errors are typing errors, and
// the default branch, since that is what gets renamed.
func (t *Table) unknown(ref string) error {
	if lower := strings.ToLower(ref); gitobject.IsID(lower) {
		return errcode.New(errcode.Unprocessable, "ref %.200q is a commit id in upper case; write it in lower case: %s", ref, lower)
	}
	hint := t.branches()
	if def, ok := strings.CutPrefix(t.def, "refs/heads/"); ok {
		hint += "; its default branch is " + def
	}
	return errcode.New(errcode.Unprocessable, "ref %.200q is not a branch, tag or full commit id of the repository; %s", ref, hint)
}

// branches names a few branches.
func (t *Table) branches() string {
	var some []string
	for i := range t.refs.Len() {
		s, ok := bytes.CutPrefix(t.refs.short(i), []byte("heads/"))
		if len(some) == 5 || !ok && len(some) > 0 {
			break
		}
		if ok {
			some = append(some, string(s))
		}
	}
	if len(some) == 0 {
		return "the repository has no branches"
	}
	return "it has the branches: " + strings.Join(some, ", ")
}
