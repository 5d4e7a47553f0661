package fleet

import "fmt"

// NotActing returns the paths of fields that are set, are kept, and do nothing
// yet, so that nobody has to find out by waiting.
func NotActing(s Spec) []string {
	var paths []string
	add := func(path string, set bool) {
		if set {
			paths = append(paths, path)
		}
	}
	add("sources", len(s.Sources) > 0)
	helmNotActing("helm", s.Helm, s.Git != nil, add)
	for i, r := range s.Renderers {
		helmNotActing(fmt.Sprintf("renderers[%d].helm", i), r.Helm, true, add)
	}
	// A kustomization that inflates charts is refused by the agent, with or
	// without it.
	add("kustomize.enableHelm", s.Kustomize != nil && s.Kustomize.EnableHelm)
	add("syncConfig.diffNormalizers", s.SyncConfig != nil && len(s.SyncConfig.DiffNormalizers) > 0)
	add("contexts", len(s.Contexts) > 0)
	add("imports", len(s.Imports) > 0)
	for i, d := range s.Dependencies {
		add(fmt.Sprintf("dependencies[%d].cluster", i), d.Cluster != "")
	}
	add("docsPath", s.DocsPath != "")
	return paths
}

// helmNotActing adds what of a Helm block does nothing. Its own Git source
// acts when the service has no other.
func helmNotActing(at string, h *Helm, otherSource bool, add func(string, bool)) {
	if h == nil {
		return
	}
	add(at+".url", h.URL != "")
	add(at+".chart", h.Chart != "")
	add(at+".version", h.Version != "")
	add(at+".repository", h.Repository != "" && otherSource)
	add(at+".git", h.Git != nil && otherSource)
	add(at+".luaScript", h.LuaScript != "")
	add(at+".luaFile", h.LuaFile != "")
	add(at+".luaFolder", h.LuaFolder != "")
	add(at+".kustomizePostrender", h.KustomizePostrender != "")
}

// mainSource returns the Git source that the service's files come from, nil
// when it has none that acts.
func mainSource(s Spec) (repository string, git *Git) {
	switch {
	case s.Git != nil:
		return s.Repository, s.Git
	case s.Helm != nil && s.Helm.Git != nil:
		return s.Helm.Repository, s.Helm.Git
	}
	return "", nil
}
