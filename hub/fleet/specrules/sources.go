package specrules

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/repourl"
)

// SourceWant is a source that a service wants to follow. The meaning of Ref and
// Folder depends on the repository's kind; docs/spec/kinds/servicedeployment.md
// lists it.
type SourceWant struct {
	// At is the field of the spec that names it, for errors.
	At string
	// ProjectID is the service's project: a URL finds only what that project registered.
	ProjectID string
	// Bound is the id of the repository that the same reference was bound to when it
	// was written before; empty is none.
	Bound string
	// Anew says that the source, or what it takes of its repository, is new: whoever
	// writes it must be able to read the repository.
	Anew bool
	// Former says that nobody writes it now: what it is bound to stays.
	Former bool
	// Repository is its name; when empty, URL finds it.
	Repository string
	URL        string
	Ref        string
	Folder     string
	Files      []string
	// Submodules and LFS are for Git.
	Submodules bool
	LFS        bool
	// Chart and Version name a chart instead of Ref and Folder.
	Chart   string
	Version string
}

// Invalid returns an error about a field of the source. For a source at
// "x.git", the repository field is beside it and the URL field inside.
func (w SourceWant) Invalid(name, format string, args ...any) error {
	at := w.At
	if name == "repository" {
		at = strings.TrimSuffix(at, "git")
	}
	path := strings.TrimSuffix(at, ".") + "." + name
	return errcode.New(errcode.Invalid, "%s: %w", strings.TrimPrefix(path, "."), fmt.Errorf(format, args...))
}

// Missing returns the error for a repository that does not exist. A caller who
// may not see an existing one gets the same error.
func (w SourceWant) Missing() error {
	if w.Repository == "" {
		return w.Invalid("url", "no repository of the service's project has the URL %.200q; register it in this project with axle repos add, or name a repository that you may read by repository", repourl.Shown(w.URL))
	}
	return w.Invalid("repository", "there is no repository %q; see axle repos list, or add it with: axle repos add", w.Repository)
}

// Declared is one source of a spec.
type Declared struct {
	// At names the field for people: "git", "sources[1]", "helm".
	At   string
	Path string
	SourceWant
}

// SourcesOf lists the sources of a spec in order: the service's own, those under
// paths, the chart. A chart with other sources is placed beside them; a single
// chart is the service's folder.
func SourcesOf(s specv1.Spec) []Declared {
	var all []Declared
	if s.Git != nil {
		all = append(all, Declared{At: "git", SourceWant: gitWant(s.Git, "git", s.Repository)})
	}
	for i, source := range s.Sources {
		at := fmt.Sprintf("sources[%d]", i)
		d := Declared{At: at, Path: CleanPath(source.Path)}
		switch {
		case source.Chart != "":
			d.SourceWant = SourceWant{At: at, Repository: source.Repository, URL: source.URL, Chart: source.Chart, Version: source.Version}
		case source.Git != nil:
			d.SourceWant = gitWant(source.Git, at+".git", source.Repository)
		default:
			d.SourceWant = SourceWant{At: at, Repository: source.Repository, URL: source.URL}
		}
		all = append(all, d)
	}
	if h := s.Helm; ChartElsewhere(h) || h != nil && h.Git != nil {
		d := Declared{At: "helm"}
		if ChartElsewhere(h) {
			d.SourceWant = SourceWant{At: "helm", Repository: h.Repository, URL: h.URL, Chart: h.Chart, Version: h.Version}
		} else {
			d.SourceWant = gitWant(h.Git, "helm.git", h.Repository)
		}
		if len(all) > 0 {
			d.Path = ChartPath
		}
		all = append(all, d)
	}
	return all
}

// Bind lists the sources of a spec with the repositories that before, whose sources
// were bound to repositories in this order, has for the same references. A source that
// only moved within the spec is not new; one that takes another part of its repository
// is.
func Bind(s, before specv1.Spec, repositories []string) []SourceWant {
	had := SourcesOf(before)
	had = had[:min(len(had), len(repositories))]
	var all []SourceWant
	for _, d := range SourcesOf(s) {
		want := d.SourceWant
		same := slices.IndexFunc(had, func(h Declared) bool {
			h.SourceWant.At = want.At
			return reflect.DeepEqual(h.SourceWant, want)
		})
		at := same
		if same < 0 {
			at = slices.IndexFunc(had, func(h Declared) bool { return h.refersTo(want) })
		}
		if want.Anew = same < 0; at >= 0 {
			want.Bound = repositories[at]
		}
		all = append(all, want)
	}
	return all
}

// refersTo reports whether both name one repository in the same way.
func (w SourceWant) refersTo(other SourceWant) bool {
	return w.Repository == other.Repository && w.URL == other.URL && (w.Chart == "") == (other.Chart == "")
}

func gitWant(g *specv1.Git, at, repository string) SourceWant {
	return SourceWant{
		At: at, Repository: repository, URL: g.URL, Ref: g.Ref, Folder: g.Folder, Files: g.Files,
		Submodules: g.Submodules, LFS: g.LFS,
	}
}
