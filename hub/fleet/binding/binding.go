// Package binding binds the sources of a spec to repositories when the spec is written:
// the ids are stored with it, and what it refers to stays the same whoever registers,
// renames or deletes something later. hub/fleet calls it for services and
// hub/fleet/globals for templates; how a reference finds a repository is the hub's.
//
// Invariants: a reference that was bound stays bound to the same id; the caller's rights
// are asked for what is new; following a source looks nothing up by name or URL.
package binding

import (
	"context"
	"strings"

	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/hub/fleet/specrules"
)

// Sources finds repositories and follows sources; the hub's wiring implements it with
// the git cache. Both act in the transaction of the context.
type Sources interface {
	// Bind returns the id of the repository that a source refers to: the one that it is
	// bound to, otherwise one that the name or the URL finds. What is new needs the
	// caller's right to read the repository. For a chart's URL that the project did not
	// register, the hub follows the URL itself. Invalid, with the field, when there is
	// none.
	Bind(ctx context.Context, want specrules.SourceWant) (repositoryID string, err error)
	// Follow follows a source of a repository. Invalid, with the field, when the fields
	// do not make a source.
	Follow(ctx context.Context, want specrules.SourceWant, repositoryID string) (sourceID string, err error)
}

// Bound is a spec with the repositories that its sources are bound to, in order.
type Bound struct {
	Spec         specv1.Spec
	Repositories []string
}

// Of returns what a spec is bound to whose sources have these places.
func Of(spec specv1.Spec, places []Place) Bound {
	bound := Bound{Spec: spec}
	for _, p := range places {
		bound.Repositories = append(bound.Repositories, p.RepositoryID)
	}
	return bound
}

// Place is a source that a service follows, and the path below the service's
// folder where its files lie. An empty path is the folder itself.
type Place struct {
	Path string `json:"path,omitempty"`
	// Name is the field of the spec that names the source.
	Name         string `json:"name,omitempty"`
	SourceID     string `json:"source"`
	RepositoryID string `json:"repository"`
}

// Bind binds the sources of a spec to repositories, as a project finds them, and returns
// their ids in order. A reference that had has stays bound. A trusted spec is not the
// caller's: the hub made it, or it was written before bindings were kept.
func Bind(ctx context.Context, sources Sources, spec specv1.Spec, projectID string, had Bound, trusted bool) ([]string, error) {
	var repositories []string
	for _, want := range specrules.Bind(spec, had.Spec, had.Repositories) {
		want.ProjectID, want.Anew, want.Former = projectID, want.Anew && !trusted, trusted
		if want.Anew && strings.HasPrefix(want.URL, "hub:") {
			return nil, want.Missing() // files for the hub's own services
		}
		id, err := sources.Bind(ctx, want)
		if err != nil {
			return nil, err
		}
		repositories = append(repositories, id)
	}
	return repositories, nil
}

// Follow follows the sources of a spec, of the repositories that they are bound to.
func Follow(ctx context.Context, sources Sources, spec specv1.Spec, repositories []string) ([]Place, error) {
	var places []Place
	for i, d := range specrules.SourcesOf(spec) {
		sourceID, err := sources.Follow(ctx, d.SourceWant, repositories[i])
		if err != nil {
			return nil, err
		}
		places = append(places, Place{Path: d.Path, Name: d.At, SourceID: sourceID, RepositoryID: repositories[i]})
	}
	return places, nil
}
