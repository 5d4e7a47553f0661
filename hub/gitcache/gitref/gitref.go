// Package gitref has the names of refs: which a server may have, which a
// source may mean, and which to list. A listing of a server
// (hub/gitcache/upstream/git) and the refs of a local repository
// (hub/gitcache/mirror) meet here, without knowing each other.
//
// It reads nothing and keeps nothing; hub/gitcache/gitagent calls it too.
//
// Invariants: a usable name is one that git accepts, of at most 1,024 bytes,
// and never one of this program's own refs.
package gitref

import (
	"slices"
	"strings"

	"github.com/axle-cd/axle/internal/gitobject"
)

// Ref is one ref of a server.
type Ref struct {
	Name string // full name
	ID   string
}

// Own is the prefix of this program's own refs in mirrors.
const Own = "refs/axle/"

// Usable reports whether a name under refs/ is one that git would accept. A
// server's listing is untrusted input.
func Usable(name string) bool {
	rest, ok := strings.CutPrefix(name, "refs/")
	if !ok || rest == "" || strings.HasPrefix(name, Own) || len(name) > 1024 {
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

// Under reports whether a name is under one of the prefixes.
func Under(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// AllPrefixes are the prefixes for a listing of everything, beside refs in use
// that are neither branches nor tags.
var AllPrefixes = []string{"refs/heads/", "refs/tags/"}

// Prefixes returns the prefixes to list so that every ref is included that any
// of the given source refs may mean; def is the known default branch. Full
// object ids need none.
func Prefixes(refs []string, def string) []string {
	var out []string
	for _, r := range refs {
		switch {
		case r == "HEAD" && def != "":
			out = append(out, def)
		case strings.HasPrefix(r, "refs/"):
			out = append(out, r)
		case gitobject.IsID(r):
		default:
			out = append(out, "refs/heads/"+r, "refs/tags/"+r)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
