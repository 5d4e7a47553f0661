// Package archtest checks the source tree against the policy in rules.txt: which
// package may import which, directly and per binary transitively; what a package must
// document; a few conventions that readers can rely on; against race.txt which packages
// run under the race detector (ADR 123); and against apiservers.txt who starts API
// servers of its own (ADR 136).
//
// It uses only go/parser, so that a violation shows at once; only the lists of
// packages that binaries link come from the go command. Its own test calls it, and
// cmd/dev/packages.
//
// A package is concurrent if its hand-written code or tests have a go statement, a select,
// a channel's type, a send or a receive, or use sync, sync/atomic, golang.org/x/sync,
// time.AfterFunc or context.AfterFunc. sync.OnceFunc, OnceValue and OnceValues do not
// count, nor does t.Parallel, nor a handler that net/http calls: what those share without
// a race, they share by one of the others.
package archtest

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Rules is the parsed policy.
type Rules struct {
	sets    map[string][]string
	rows    map[string][]string
	later   map[string]bool
	forbids []Forbid
	excused []Forbid
}

// Forbid says what one binary must not link, and why.
type Forbid struct {
	// Package is the first-party folder of the binary.
	Package string
	// Pattern is an import path; a trailing * makes it a prefix.
	Pattern string
	Reason  string
}

// Parse reads the policy text. Errors name the line.
func Parse(text string) (*Rules, error) {
	r := &Rules{sets: map[string][]string{}, rows: map[string][]string{}, later: map[string]bool{}}
	scanner := bufio.NewScanner(strings.NewReader(text))
	for n := 1; scanner.Scan(); n++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := r.line(line); err != nil {
			return nil, fmt.Errorf("rules.txt:%d: %w", n, err)
		}
	}
	return r, scanner.Err()
}

func (r *Rules) line(line string) error {
	for word, list := range map[string]*[]Forbid{"forbid": &r.forbids, "allow": &r.excused} {
		rest, ok := strings.CutPrefix(line, word+" ")
		if !ok {
			continue
		}
		pkg, rule, ok := strings.Cut(rest, ":")
		pattern, reason, ok2 := strings.Cut(strings.TrimSpace(rule), " ")
		if !ok || !ok2 || len(strings.Fields(pkg)) != 1 {
			return fmt.Errorf("want \"%s PACKAGE : PATTERN REASON\"", word)
		}
		*list = append(*list, Forbid{strings.TrimSpace(pkg), pattern, reason})
		return nil
	}
	if name, members, ok := strings.Cut(line, " = "); ok {
		name = strings.TrimSpace(name)
		if name == "later" {
			for _, m := range strings.Fields(members) {
				r.later[m] = true
			}
			return nil
		}
		r.sets[name] = strings.Fields(members)
		return nil
	}
	name, allowed, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("neither a set nor a row: %q", line)
	}
	for _, name := range strings.Fields(name) {
		if _, twice := r.rows[name]; twice {
			return fmt.Errorf("second row for %s", name)
		}
		r.rows[name] = strings.Fields(allowed)
	}
	return nil
}

// Allows returns the exceptions from general rules for single binaries, and their
// reasons.
func (r *Rules) Allows() []Forbid { return slices.Clone(r.excused) }

// Forbids returns the denials for binaries.
func (r *Rules) Forbids() []Forbid { return slices.Clone(r.forbids) }

// matches reports whether the pattern of a row covers a package.
func matches(pattern, pkg string) bool {
	if base, ok := strings.CutSuffix(pattern, "/**"); ok {
		return pkg == base || strings.HasPrefix(pkg, base+"/")
	}
	if base, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(pkg, base+"/")
	}
	return pattern == pkg
}

// row returns what a package may import: the exact row, otherwise that of the longest
// pattern, otherwise, for <p>/<p>test, p's row and p.
func (r *Rules) row(pkg string) ([]string, bool) {
	if allowed, ok := r.rows[pkg]; ok {
		return allowed, true
	}
	if parent, ok := strings.CutSuffix(pkg, "test"); ok {
		if i := strings.LastIndex(pkg, "/"); i > 0 && strings.HasSuffix(pkg[:i], parent[i:]) {
			if allowed, ok := r.row(pkg[:i]); ok {
				return append(slices.Clone(allowed), pkg[:i]), true
			}
		}
	}
	best := ""
	for pattern := range maps.Keys(r.rows) {
		if strings.Contains(pattern, "*") && matches(pattern, pkg) && len(pattern) > len(best) {
			best = pattern
		}
	}
	if best == "" {
		return nil, false
	}
	return r.rows[best], true
}

// allows reports whether a row covers an import, sets included.
func (r *Rules) allows(row []string, imported string) bool {
	for _, pattern := range row {
		if members, ok := r.sets[pattern]; ok {
			if r.allows(members, imported) {
				return true
			}
			continue
		}
		if matches(pattern, imported) {
			return true
		}
	}
	return false
}

// isTestPackage reports whether only tests may import a package.
func isTestPackage(pkg string) bool {
	return strings.HasPrefix(pkg, "test/") || (strings.HasSuffix(pkg, "test") && pkg != "internal/archtest")
}

// CheckImports returns a sentence for each import, and each package, that the policy
// does not cover. Imports are first-party folders, by importing folder.
func (r *Rules) CheckImports(packages map[string]*Package) []string {
	var bad []string
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		p := packages[name]
		row, ok := r.row(name)
		if !ok {
			bad = append(bad, fmt.Sprintf("%s: no row in rules.txt covers this package", name))
			continue
		}
		if r.later[name] {
			bad = append(bad, fmt.Sprintf("%s: exists but is still listed under later", name))
		}
		for _, i := range p.Imports {
			if isTestPackage(i) && !isTestPackage(name) && name != "cmd/dev" && !strings.HasPrefix(name, "cmd/dev/") {
				bad = append(bad, fmt.Sprintf("%s: imports %s, which only tests may", name, i))
			} else if !r.allows(row, i) {
				bad = append(bad, fmt.Sprintf("%s: may not import %s", name, i))
			}
		}
		for _, i := range p.TestImports {
			if i != name && !isTestPackage(i) && !r.allows(row, i) {
				bad = append(bad, fmt.Sprintf("%s: its tests may not import %s", name, i))
			}
		}
	}
	return bad
}
