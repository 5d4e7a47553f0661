package fleet

import (
	"context"
	"fmt"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// SourceWant is a source that a service wants to follow. What Ref and Folder
// say depends on the repository's kind; docs/spec/servicedeployment.md lists
// it.
type SourceWant struct {
	// At is the field of the spec that names it, for errors.
	At string
	// ProjectID is whose service wants it: of several repositories with one URL
	// that project's own is meant.
	ProjectID string
	// Repository is its name; when empty, URL finds it.
	Repository string
	URL        string
	Ref        string
	Folder     string
	Files      []string
	// Submodules and LFS are for Git.
	Submodules bool
	LFS        bool
	// Chart and Version name a chart in place of Ref and Folder.
	Chart   string
	Version string
}

// Invalid says what is wrong with a field of the source. The repository of
// "x.git" is beside it, and its URL inside.
func (w SourceWant) Invalid(name, format string, args ...any) error {
	at := w.At
	if name == "repository" {
		at = strings.TrimSuffix(at, "git")
	}
	path := strings.TrimSuffix(at, ".") + "." + name
	return errcode.New(errcode.Invalid, "%s: %w", strings.TrimPrefix(path, "."), fmt.Errorf(format, args...))
}

// Missing says that there is no such repository, and is what somebody hears
// who may not see the one that there is.
func (w SourceWant) Missing() error {
	if w.Repository == "" {
		return w.Invalid("url", "no repository has the URL %.200q; add it with: axle repos add", w.URL)
	}
	return w.Invalid("repository", "there is no repository %q; see axle repos list, or add it with: axle repos add", w.Repository)
}

// Upstream is how a repository does.
type Upstream struct {
	Name string
	// Kind is git, helm, oci or bucket.
	Kind string
	// FailingSince is zero while it can be read; Message are its words.
	FailingSince int64
	Message      string
}

// Sources is where services get their content from; the hub's wiring makes it
// of the git cache.
type Sources interface {
	// Follow finds the repository and follows the source in the transaction of
	// the context. A chart's URL that no repository has is followed as well.
	// Invalid, with the field, when there is no such repository or when the
	// parts make no source.
	Follow(ctx context.Context, want SourceWant) (sourceID, repositoryID string, err error)
	// Heads returns the heads that exist of some sources, by source id.
	Heads(ctx context.Context, sourceIDs []string) (map[string]Head, error)
	// Moved returns up to limit sources after an id, in order of id, whose
	// heads moved since Followed was last called for them.
	Moved(ctx context.Context, after string, limit int) ([]string, error)
	// Followed notes, in the transaction of the context, that no service is
	// behind the sources. A head that moves meanwhile makes the transaction
	// run again.
	Followed(ctx context.Context, sourceIDs []string) error
	// Upstreams returns those of the repositories that exist, by id.
	Upstreams(ctx context.Context, repositoryIDs []string) (map[string]Upstream, error)
}

// Sealer keeps secrets unreadable at rest. The purpose is bound to what is
// sealed, so that one row's bytes are of no use in another.
type Sealer interface {
	Seal(plain []byte, purpose string) string
	Open(sealed, purpose string) ([]byte, error)
}

// Writer runs fn in one transaction whose context it hands on; inside one it
// joins. It may run fn several times.
type Writer interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
	// WriteBatched lets many small writes share one commit and returns after
	// it.
	WriteBatched(ctx context.Context, fn func(ctx context.Context) error) error
}
