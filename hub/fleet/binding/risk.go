package binding

import (
	"github.com/axle-cd/axle/hub/fleet/specrules"
	"github.com/axle-cd/axle/internal/risk"
)

// Repository is what decides whether a source that names it by URL is at risk.
type Repository struct {
	// Name is empty for one that the hub follows by itself; ProjectID is its project.
	Name, ProjectID string
	URL             string
}

// Risks lists the sources at risk of what a project declared, with the repositories that
// exist by id.
func Risks(b Bound, projectID string, repositories map[string]Repository) []risk.Source {
	var risks []risk.Source
	for i, d := range specrules.SourcesOf(b.Spec) {
		if i >= len(b.Repositories) {
			break
		}
		r, known := repositories[b.Repositories[i]]
		others := r.Name != "" && r.ProjectID != projectID
		moved := r.Name == "" && risk.Plain(r.URL) != risk.Plain(d.URL)
		if known && d.Repository == "" && (others || moved) {
			risks = append(risks, risk.Source{Field: d.SourceWant.At + ".url", URL: d.URL, Chart: d.Chart != "", Registered: registered(repositories, projectID, d.URL), Follows: r.Name, Now: r.URL})
		}
	}
	return risks
}

// registered reports whether a project registered a URL.
func registered(repositories map[string]Repository, projectID, url string) bool {
	for _, r := range repositories {
		if r.Name != "" && r.ProjectID == projectID && risk.Plain(r.URL) == risk.Plain(url) {
			return true
		}
	}
	return false
}
