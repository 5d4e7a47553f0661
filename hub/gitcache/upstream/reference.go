package upstream

import (
	"context"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// reference is a path that a file or link in a tree needs from outside that
// tree, relative to it, so it begins with "..". What leaves a tree depends on
// the tree alone, whatever its place, and is remembered by its id.
type reference struct {
	path string
	from string // the file that names it, relative to the tree
	link bool   // a symbolic link, which may dangle
}

// leaving returns what a tree and everything below it need from outside.
func (t *trees) leavingOf(ctx context.Context, tree string, depth int) ([]reference, error) {
	t.mu.Lock()
	got, ok := t.leaving[tree]
	t.mu.Unlock()
	if ok || depth > maxDepth {
		return got, nil
	}
	entries, err := t.read(ctx, tree)
	if err != nil {
		return nil, err
	}
	var out []reference
	seen := map[string]bool{}
	add := func(r reference) {
		r.path = path.Clean(r.path)
		if (r.path == ".." || strings.HasPrefix(r.path, "../")) && !seen[r.path] {
			seen[r.path] = true
			out = append(out, r)
		}
	}
	for _, e := range entries {
		if e.mode == modeTree {
			below, err := t.leavingOf(ctx, e.id, depth+1)
			if err != nil {
				return nil, err
			}
			for _, r := range below {
				add(reference{path.Join(e.name, r.path), path.Join(e.name, r.from), r.link})
			}
			continue
		}
		named, err := t.namedBy(ctx, e)
		if err != nil {
			return nil, err
		}
		for _, p := range named {
			add(reference{p, e.name, e.mode == modeLink})
		}
	}
	t.mu.Lock()
	t.leaving[tree] = out
	t.size += len(out)
	t.mu.Unlock()
	return out, nil
}

// maxDepth bounds how deep folders are looked into; the tarball's own limit is
// lower and has the better words.
const maxDepth = 100

// namedBy returns the paths that one file or link names, relative to its
// folder.
func (t *trees) namedBy(ctx context.Context, e treeEntry) ([]string, error) {
	var parse func([]byte) []string
	switch {
	case e.mode == modeLink:
		parse = func(raw []byte) []string {
			if len(raw) == 0 || raw[0] == '/' {
				return nil
			}
			return []string{string(raw)}
		}
	case e.mode == modeSubmodule:
		return nil, nil
	case e.name == "kustomization.yaml" || e.name == "kustomization.yml" || e.name == "Kustomization":
		parse = inKustomization
	case e.name == "Chart.yaml" || e.name == "requirements.yaml":
		parse = inChart
	default:
		return nil, nil
	}
	raw, err := t.mirror.Object(ctx, e.id, "blob")
	if err != nil {
		return nil, err
	}
	return parse(raw), nil
}

// kustomization has the fields of a kustomization that name files or folders.
type kustomization struct {
	Resources, Bases, Components, CRDs, Configurations []string
	Generators, Transformers, Validators               []string
	PatchesStrategicMerge                              []string
	Patches, PatchesJson6902, Replacements             []struct{ Path string }
	ConfigMapGenerator, SecretGenerator                []struct {
		Files, Envs []string
		Env         string
	}
	HelmCharts []struct {
		ValuesFile            string
		AdditionalValuesFiles []string
	}
	HelmChartInflationGenerator []struct{ Values string }
	HelmGlobals                 struct{ ChartHome string }
	OpenAPI                     struct{ Path string }
}

// inKustomization collects the local paths of a kustomization. One that cannot
// be read names nothing: the renderer says what is wrong with it, and where.
func inKustomization(raw []byte) []string {
	var k kustomization
	if yaml.Unmarshal(raw, &k) != nil {
		return nil
	}
	var all []string
	for _, list := range [][]string{k.Resources, k.Bases, k.Components, k.CRDs, k.Configurations, k.Generators, k.Transformers, k.Validators, k.PatchesStrategicMerge} {
		all = append(all, list...)
	}
	for _, list := range [][]struct{ Path string }{k.Patches, k.PatchesJson6902, k.Replacements} {
		for _, p := range list {
			all = append(all, p.Path)
		}
	}
	for _, g := range append(k.ConfigMapGenerator, k.SecretGenerator...) {
		for _, f := range g.Files {
			if _, after, ok := strings.Cut(f, "="); ok {
				f = after
			}
			all = append(all, f)
		}
		all = append(append(all, g.Envs...), g.Env)
	}
	for _, h := range k.HelmCharts {
		all = append(append(all, h.AdditionalValuesFiles...), h.ValuesFile)
	}
	for _, h := range k.HelmChartInflationGenerator {
		all = append(all, h.Values)
	}
	return local(append(all, k.HelmGlobals.ChartHome, k.OpenAPI.Path))
}

// local leaves out inline documents and what lies on other servers.
func local(paths []string) []string {
	out := paths[:0]
	for _, p := range paths {
		if p != "" && !strings.ContainsAny(p, "\n:{") && p[0] != '/' {
			out = append(out, p)
		}
	}
	return out
}

// inChart collects the dependencies of a chart that lie in this repository.
func inChart(raw []byte) []string {
	var c struct {
		Dependencies []struct{ Repository string }
	}
	if yaml.Unmarshal(raw, &c) != nil {
		return nil
	}
	var out []string
	for _, d := range c.Dependencies {
		if p, ok := strings.CutPrefix(d.Repository, "file://"); ok && !strings.HasPrefix(p, "/") {
			out = append(out, p)
		}
	}
	return out
}
