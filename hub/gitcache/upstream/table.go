package upstream

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// Table is what all refs of a mirror pointed at, at one moment. It does not
// change.
type Table struct {
	raw     map[string]string // branches and tags, as they point
	commits map[string]string // the same, peeled, where that is a commit
	kept    []string
}

func newTable(out string) (*Table, error) {
	t := &Table{raw: map[string]string{}, commits: map[string]string{}}
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 5)
		if len(f) != 5 || !IsID(f[0]) {
			return nil, fmt.Errorf("for-each-ref said %.100q", line)
		}
		id, kind, peeled, peeledKind, name := f[0], f[1], f[2], f[3], f[4]
		if rest, ok := strings.CutPrefix(name, keepPrefix); ok {
			t.kept = append(t.kept, rest)
			continue
		}
		t.raw[name] = id
		switch {
		case kind == "commit":
			t.commits[name] = id
		case peeledKind == "commit" && IsID(peeled):
			t.commits[name] = peeled
		}
	}
	return t, nil
}

// Kept returns the commits that are kept by name.
func (t *Table) Kept() []string { return t.kept }

// Len returns how many branches and tags there are.
func (t *Table) Len() int { return len(t.raw) }

// Raw returns what a full name points at, tags not peeled; empty when the
// mirror does not have it.
func (t *Table) Raw(name string) string { return t.raw[name] }

// Resolve finds the commit that a source's ref means: a branch, else a tag,
// else a full object id, which the caller must look for. A name that is both
// branch and tag is refused unless it is written in full: whoever may push
// tags would otherwise decide what a branch's followers run.
func (t *Table) Resolve(ref string) (commit string, err error) {
	if strings.HasPrefix(ref, "refs/") {
		return t.named(ref, ref)
	}
	branch, tag := "refs/heads/"+ref, "refs/tags/"+ref
	_, isBranch := t.raw[branch]
	_, isTag := t.raw[tag]
	switch {
	case isBranch && isTag:
		return "", errcode.New(errcode.Unprocessable, "ref %q is both a branch and a tag; write %s or %s", ref, branch, tag)
	case isBranch:
		return t.named(ref, branch)
	case isTag:
		return t.named(ref, tag)
	case IsID(ref):
		return ref, nil
	}
	return "", t.unknown(ref)
}

func (t *Table) named(ref, full string) (string, error) {
	if c, ok := t.commits[full]; ok {
		return c, nil
	}
	if _, ok := t.raw[full]; ok {
		return "", errcode.New(errcode.Unprocessable, "ref %q does not point at a commit", ref)
	}
	return "", t.unknown(ref)
}

// unknown lists a few names that are there, since most are typing errors.
func (t *Table) unknown(ref string) error {
	names := slices.Sorted(maps.Keys(t.raw))
	var some []string
	for _, n := range names {
		if s, ok := strings.CutPrefix(n, "refs/heads/"); ok && len(some) < 5 {
			some = append(some, s)
		}
	}
	hint := "the repository has no branches"
	if len(some) > 0 {
		hint = "branches there are: " + strings.Join(some, ", ")
	}
	return errcode.New(errcode.Unprocessable, "ref %.200q is no branch, tag or full commit id of the repository; %s", ref, hint)
}

// Prefixes returns what to ask a server for to see every ref that any of the
// given source refs may mean. Full object ids need none.
func Prefixes(refs []string) []string {
	var out []string
	for _, r := range refs {
		switch {
		case strings.HasPrefix(r, "refs/"):
			out = append(out, r)
		case IsID(r):
		default:
			out = append(out, "refs/heads/"+r, "refs/tags/"+r)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
