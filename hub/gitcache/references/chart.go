package references

import (
	"cmp"
	"strings"

	"github.com/axle-cd/axle/internal/aliases"
)

// Chart returns what a Chart.yaml or a requirements.yaml refers to, together
// with its lock: the folders of dependencies in the same repository, relative
// to its own folder, and the dependencies in chart repositories. When the lock
// names the same chart of the same repository, its version replaces a range. A lock that
// contradicts the chart is a problem of each dependency in a chart repository.
func Chart(raw, lock []byte) (local []string, external []External) {
	if len(raw) > maxText || len(lock) > maxText || aliases.Check(raw) != nil || aliases.Check(lock) != nil {
		return nil, nil
	}
	l := readLock(raw, lock)
	for _, f := range mapping(raw) {
		if f.name != "dependencies" {
			continue
		}
		for i, entry := range f.value.Content {
			repository := child(entry, "repository")
			if p, ok := strings.CutPrefix(repository, "file://"); ok {
				if !strings.HasPrefix(p, "/") {
					local = append(local, p)
				}
				continue
			}
			n := External{Kind: Dependency, Line: entry.Line, Name: child(entry, "name"), URL: repository, Version: child(entry, "version")}
			if n.URL == "" || n.Name == "" {
				continue // it is in charts/, or the renderer reports the error
			}
			n.Text = n.Name
			locked, problem := l.version(i, n.Name, n.URL, n.Version)
			n.Version = cmp.Or(locked, n.Version)
			n.Problem = cmp.Or(chartProblem(n.URL, n.Name), problem)
			external = append(external, n)
		}
	}
	return local, external
}

func trimURL(u string) string { return strings.TrimRight(u, "/") }

// chartProblem returns what is wrong with the address of a chart.
func chartProblem(url, name string) string {
	switch {
	case strings.ContainsAny(name, "/\\\x00\n \"'") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") || len(name) > 250:
		return "has a name that is not valid for a chart"
	case strings.HasPrefix(url, "@") || strings.HasPrefix(url, "alias:"):
		return "names its repository by an alias of one machine; write the repository's URL"
	case strings.HasPrefix(url, "https://"), strings.HasPrefix(url, "http://"), strings.HasPrefix(url, "oci://"):
		return ""
	}
	return "names a repository that is neither https:// nor oci://"
}
