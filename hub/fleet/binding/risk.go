package binding

import (
	"strings"

	"github.com/axle-cd/axle/hub/fleet/specrules"
)

// Repository is what decides whether a source that names it by URL is at risk.
type Repository struct {
	// Name is empty for one that the hub follows by itself; ProjectID is its project.
	Name, ProjectID string
	URL             string
}

// Risk is a source that names a repository by URL and follows one that others may
// change: it was found before a URL found only what the own project registered.
type Risk struct {
	// Object is "service CLUSTER/NAME" or "global service NAME", and Project its project.
	Object, Project string
	// Field is the field of the spec, and URL what it says; Chart is set for a chart's.
	Field, URL string
	Chart      bool
	// Template is the global service that a service is a target of, and that follows
	// another repository.
	Template string
	// Registered is set when the project has registered the URL, so that the source
	// follows that once it is declared again.
	Registered bool
	Repository
}

// Risks lists the sources at risk of what a project declared, with the repositories that
// exist by id.
func Risks(b Bound, projectID string, repositories map[string]Repository) []Risk {
	var risks []Risk
	for i, d := range specrules.SourcesOf(b.Spec) {
		if i >= len(b.Repositories) {
			break
		}
		r, known := repositories[b.Repositories[i]]
		others := r.Name != "" && r.ProjectID != projectID
		moved := r.Name == "" && plain(r.URL) != plain(d.URL)
		if known && d.Repository == "" && (others || moved) {
			risks = append(risks, Risk{Field: d.SourceWant.At + ".url", URL: d.URL, Chart: d.Chart != "", Registered: registered(repositories, projectID, d.URL), Repository: r})
		}
	}
	return risks
}

// registered reports whether a project registered a URL.
func registered(repositories map[string]Repository, projectID, url string) bool {
	for _, r := range repositories {
		if r.Name != "" && r.ProjectID == projectID && plain(r.URL) == plain(url) {
			return true
		}
	}
	return false
}

// plain is a URL without what does not name another repository.
func plain(url string) string {
	return strings.TrimSuffix(strings.ToLower(strings.TrimRight(strings.TrimSpace(url), "/")), ".git")
}
