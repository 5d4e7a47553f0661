package mirror

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/internal/digest"
)

// reference is a path that a file or link in a tree needs from outside that
// tree, relative to it, so it begins with "..".
type reference struct {
	path string
	from string // the file that refers to it, relative to the tree
}

// Link is a submodule: a commit of another repository at a path of this one.
type Link struct {
	Path   string
	Commit string
	URL    string
}

// facts are what a tree and everything below it need from outside. They depend
// only on the tree, whatever its path, so they are cached by its id. Facts do
// not change.
type facts struct {
	leaving  []reference
	external []references.External // File is relative to the tree
	links    []Link                // without URLs, which are in .gitmodules
	away     []Link                // symbolic links that may lead out of the content; URL is the target
}

// nothing is the facts of most trees.
var nothing = &facts{}

// factsOf returns what a tree and everything below it need from outside. It
// ignores what is below maxDepth, because the tarball refuses that with a
// better error.
func (t *trees) factsOf(ctx context.Context, tree string, depth int) (*facts, error) {
	t.mu.Lock()
	got, ok := t.facts[tree]
	t.mu.Unlock()
	if ok {
		return got, nil
	}
	if depth > maxDepth {
		return nothing, nil
	}
	// A tree that is only read for its facts is not cached.
	entries, err := t.read(ctx, tree, false)
	if err != nil {
		return nil, err
	}
	g := gathering{seen: map[string]bool{}, bases: map[string]bool{}}
	byName := make(map[string]treeEntry, 4)
	for _, e := range entries {
		if special[e.name] {
			byName[e.name] = e
		}
	}
	for _, e := range entries {
		switch e.mode {
		case modeTree:
			below, err := t.factsOf(ctx, e.id, depth+1)
			if err != nil {
				return nil, err
			}
			_, chart := byName["Chart.yaml"]
			g.below(e.name, below, chart && e.name == "charts")
		case modeSubmodule:
			g.links = more(g.links, Link{Path: e.name, Commit: e.id})
		default:
			if err := t.named(ctx, e, byName, &g); err != nil {
				return nil, err
			}
		}
	}
	out := nothing
	if len(g.leaving)+len(g.external)+len(g.links)+len(g.away) > 0 {
		out = &g.facts
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known += 1 + len(out.leaving) + 4*len(out.external) + len(out.links) + len(out.away); t.known > maxFacts {
		t.facts, t.known = map[string]*facts{}, 1
	}
	t.facts[tree] = out
	return out, nil
}

// special are the names of files that files with references read beside
// themselves.
var special = map[string]bool{"Chart.yaml": true, "Chart.lock": true, "requirements.lock": true, "charts": true}

// gathering collects the facts of one tree.
type gathering struct {
	facts
	seen  map[string]bool
	bases map[string]bool
}

// maxExternal limits the external references of one tree, far above what a
// source may have: trees that share trees multiply them.
const maxExternal = 1000

// refer adds an external reference; one to a base represents all others to it.
func (g *gathering) refer(n references.External) {
	switch {
	case n.Kind == references.Base && g.bases[n.Text], len(g.external) > maxExternal:
		return
	case len(g.external) == maxExternal:
		n.Problem = fmt.Sprintf("is one of more than %d references to other servers", maxExternal)
	}
	g.bases[n.Text] = g.bases[n.Text] || n.Kind == references.Base
	g.external = append(g.external, n)
}

// more adds a link, unless there are too many.
func more(links []Link, l Link) []Link {
	if len(links) > maxExternal {
		return links
	}
	return append(links, l)
}

func (g *gathering) leave(r reference) {
	r.path = path.Clean(r.path)
	if (r.path == ".." || strings.HasPrefix(r.path, "../")) && !g.seen[r.path] {
		g.seen[r.path] = true
		g.leaving = append(g.leaving, r)
	}
}

// below adds what a subfolder needs. Subcharts inside a chart bring their own
// dependencies.
func (g *gathering) below(name string, f *facts, subcharts bool) {
	for _, r := range f.leaving {
		g.leave(reference{path.Join(name, r.path), path.Join(name, r.from)})
	}
	for _, n := range f.external {
		if subcharts && n.Kind == references.Dependency {
			continue
		}
		n.File = path.Join(name, n.File)
		g.refer(n)
	}
	for _, l := range f.links {
		l.Path = path.Join(name, l.Path)
		g.links = more(g.links, l)
	}
	for _, l := range f.away {
		l.Path = path.Join(name, l.Path)
		g.away = more(g.away, l)
	}
}

// maxDepth limits how deep folders are searched; the tarball's own limit is
// lower and has the better error.
const maxDepth = 100

// named adds what one file or link refers to.
func (t *trees) named(ctx context.Context, e treeEntry, beside map[string]treeEntry, g *gathering) error {
	chart := e.name == "Chart.yaml" || e.name == "requirements.yaml"
	if e.mode != modeLink && !chart && !references.IsKustomization(e.name) {
		return nil
	}
	raw, err := t.mirror.Object(ctx, e.id, "blob")
	if err != nil {
		return err
	}
	var local []string
	var external []references.External
	switch {
	case e.mode == modeLink:
		if digest.CheckLink(e.name, string(raw)) != nil {
			g.away = more(g.away, Link{Path: e.name, URL: string(raw[:min(len(raw), digest.MaxPathBytes+1)])})
		}
		if len(raw) > 0 && raw[0] != '/' {
			local = []string{string(raw)}
		}
	case chart:
		var lock []byte
		if l, ok := beside[map[string]string{"Chart.yaml": "Chart.lock", "requirements.yaml": "requirements.lock"}[e.name]]; ok && l.mode != modeTree {
			if lock, err = t.mirror.Object(ctx, l.id, "blob"); err != nil {
				return err
			}
		}
		local, external = references.Chart(raw, lock)
		if external, err = t.absent(ctx, external, beside["charts"]); err != nil {
			return err
		}
	default:
		local, external = references.Kustomization(raw)
	}
	for _, p := range local {
		g.leave(reference{p, e.name})
	}
	for _, n := range external {
		n.File = e.name
		g.refer(n)
	}
	return nil
}

// absent leaves out the dependencies that are already in the chart.
func (t *trees) absent(ctx context.Context, external []references.External, charts treeEntry) ([]references.External, error) {
	if len(external) == 0 || charts.mode != modeTree || charts.id == "" {
		return external, nil
	}
	entries, err := t.read(ctx, charts.id, false)
	if err != nil {
		return nil, err
	}
	out := external[:0]
	for _, n := range external {
		if !hasChart(entries, n.Name) {
			out = append(out, n)
		}
	}
	return out, nil
}

// hasChart reports whether a charts folder holds a chart of that name: as a folder
// or packed, with or without its version.
func hasChart(entries []treeEntry, name string) bool {
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.name, name)
		if !ok || e.mode != modeTree && !strings.HasSuffix(rest, ".tgz") {
			continue
		}
		if version, ok := strings.CutPrefix(rest, "-"); rest == "" || ok && version != "" && (version[0] == 'v' || version[0] >= '0' && version[0] <= '9') {
			return true
		}
	}
	return false
}
