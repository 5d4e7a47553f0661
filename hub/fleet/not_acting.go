package fleet

import "fmt"

// NotActing returns the paths of fields that are set and stored but have no
// effect yet, so that users need not find out by waiting.
func NotActing(s Spec) []string {
	var paths []string
	add := func(path string, set bool) {
		if set {
			paths = append(paths, path)
		}
	}
	if h := s.Helm; h != nil {
		// A chart needs a repository, and its version needs a chart. Where the
		// chart could come from two places, the chart repository wins.
		elsewhere := chartElsewhere(h)
		add("helm.chart", h.Chart != "" && !elsewhere)
		add("helm.version", h.Version != "" && !elsewhere)
		add("helm.git", h.Git != nil && elsewhere)
	}
	for i, r := range s.Renderers {
		if h := r.Helm; h != nil {
			at := fmt.Sprintf("renderers[%d].helm", i)
			add(at+".url", h.URL != "")
			add(at+".chart", h.Chart != "")
			add(at+".version", h.Version != "")
			add(at+".repository", h.Repository != "")
			add(at+".git", h.Git != nil)
		}
	}
	for i, d := range s.Dependencies {
		add(fmt.Sprintf("dependencies[%d].cluster", i), d.Cluster != "")
	}
	add("docsPath", s.DocsPath != "")
	return paths
}
