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
	if h := s.Helm; h != nil {
		// A chart needs a repository, its version a chart; of two places where
		// the chart might come from the repository of charts counts.
		elsewhere := h.chartElsewhere()
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
