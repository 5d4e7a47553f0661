package gitcache

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitagent"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/gitobject"
	"github.com/axle-cd/axle/internal/repourl"
)

// parts gives git agents content of other upstreams: submodules, bases and
// charts that files of a repository refer to. Each is a source of another
// repository: one that is registered in the same project, otherwise one that
// the hub follows only for the referring repository.
type parts struct{ cache *Cache }

// followRetry limits how long a part waits for its repository's first copy.
const followRetry = 10 * time.Minute

// Find implements gitagent.Parts.
func (p parts) Find(ctx context.Context, repositoryID string, w gitagent.Wanted) (gitagent.Found, error) {
	c := p.cache
	ctx, cancel := context.WithTimeout(ctx, followRetry)
	defer cancel()
	r, err := p.repository(ctx, repositoryID, w)
	if err != nil {
		return gitagent.Found{}, err
	}
	ref := w.Ref
	if w.Kind == record.Git && !gitobject.IsID(ref) && !strings.HasPrefix(ref, "refs/tags/") {
		// A ref that moves with every push would change what runs without a
		// commit.
		ref = "refs/tags/" + ref
	}
	if w.Kind == record.OCI && ref == "" {
		ref = "*"
	}
	s, err := Source{RepositoryID: r.ID, Ref: ref, Folder: w.Folder, Options: w.Options}.Settle(w.Kind)
	if err != nil {
		return gitagent.Found{}, err
	}
	head, err := c.Resolve(ctx, s)
	if err != nil {
		// Its repository is new, or was not needed until now.
		if err := c.Track(ctx, s); err != nil {
			return gitagent.Found{}, err
		}
		c.Changed(r.ID)
		if err := c.RefreshAndWait(ctx, r.ID, ""); err != nil {
			return gitagent.Found{}, err // the error names the URL
		}
		if head, err = c.Resolve(ctx, s); err != nil {
			return gitagent.Found{}, unpinned(r, w, err)
		}
	}
	a, err := c.store.Artifact(ctx, head.Digest)
	return gitagent.Found{Digest: head.Digest, Recipe: a.Recipe, Entry: head.Entry}, err
}

// unpinned returns the error for a ref that is not a tag, for the author of the
// reference.
func unpinned(r Repository, w gitagent.Wanted, err error) error {
	if w.Kind == record.Git && !gitobject.IsID(w.Ref) && strings.Contains(errcode.Message(err), "refs/tags/"+w.Ref) {
		return errcode.New(errcode.Unprocessable, "%s has no tag %.200q; name a tag or a full commit id, which branches and short ids are not", r.URL, w.Ref)
	}
	return fmt.Errorf("%s: %w", r.URL, err)
}

// Open implements gitagent.Parts. It verifies a stored file before the file
// becomes a part of another, which is rare: a corrupted file would corrupt
// that, or prevent it from being made.
func (p parts) Open(ctx context.Context, part record.Part) (io.ReadCloser, error) {
	p.cache.tarballs.node.Doubt(part.Digest)
	t, err := p.cache.Fetch(ctx, part.Digest)
	if err == nil {
		return t, nil
	}
	if !errcode.Is(err, errcode.NotFound) {
		return nil, err
	}
	// Its own row is deleted a day after it was found; the recipe is here.
	if a := p.cache.owners.agent(part.Recipe.RepositoryID); a != nil {
		f, err := p.cache.tarballs.node.Get(ctx, part.Digest, func(ctx context.Context, w io.Writer) (digest.Digest, error) {
			return a.Rebuild(ctx, part.Recipe, w)
		})
		if err != nil {
			return nil, p.cache.tarballs.unserved(ctx, part.Digest, err)
		}
		return f, nil
	}
	// The owner writes the row again when it resolves the same content.
	s, err := Source{RepositoryID: part.Recipe.RepositoryID, Ref: part.Recipe.Commit, Folder: part.Recipe.Folder,
		Files: part.Recipe.Files, Options: part.Recipe.Options}.Settle(part.Recipe.Kind)
	if err != nil {
		return nil, err
	}
	if _, err := p.cache.Resolve(ctx, s); err != nil {
		return nil, err
	}
	return p.cache.Fetch(ctx, part.Digest)
}

// repository finds or creates the repository of a URL, for the repository that
// refers to it.
func (p parts) repository(ctx context.Context, parentID string, w gitagent.Wanted) (Repository, error) {
	c := p.cache
	parent, err := c.store.Repository(ctx, parentID)
	if err != nil {
		return Repository{}, err
	}
	wanted, err := partURL(w, c.config.AllowHTTP)
	if err != nil {
		return Repository{}, err
	}
	all, err := c.store.Repositories(ctx)
	if err != nil {
		return Repository{}, err
	}
	for _, r := range all {
		if !r.Options.Internal && r.ProjectID == parent.ProjectID && r.Kind == w.Kind && r.IsAt(wanted) {
			return r, nil
		}
	}
	return p.follow(ctx, parent, Repository{ProjectID: parent.ProjectID, Kind: w.Kind, URL: wanted}, all)
}

// follow finds or creates the internal repository, and updates its credentials.
// Credentials are only used for their own server: those of the referring
// repository, otherwise those of a repository on that server that is registered
// in the same project.
func (p parts) follow(ctx context.Context, parent, r Repository, registered []Repository) (Repository, error) {
	c := p.cache
	var creds Credentials
	for _, from := range append([]Repository{parent}, registered...) {
		if origin(from.URL) != origin(r.URL) || from.Options.Internal && from.ID != parent.ID || from.ProjectID != parent.ProjectID || !lends(from, r.Kind) {
			continue
		}
		r.Auth, r.Options.Proxy, r.Options.APIURL, r.Options.PlainHTTP = from.Auth, from.Options.Proxy, from.Options.APIURL, from.Options.PlainHTTP
		var err error
		if creds, err = c.store.Credentials(ctx, from.ID); err != nil {
			return r, err
		}
		break
	}
	old, err := c.FollowByItself(ctx, parent.ID, r, creds)
	if errcode.Is(err, errcode.Invalid) {
		return r, errcode.New(errcode.Unprocessable, "%s cannot be followed: %s; register it in the same project", r.URL, errcode.Message(err))
	}
	if err != nil {
		return r, err
	}
	had, err := c.store.Credentials(ctx, old.ID)
	if err != nil || had == creds {
		return old, err
	}
	old.Auth, old.Options = r.Auth, r.Options
	return c.UpdateRepository(ctx, old, &creds)
}

// lends reports whether the credentials of a repository may be used for another
// of a kind: a user and password apply to a whole server.
func lends(from Repository, kind Kind) bool {
	return from.Kind == kind || from.Auth == record.AuthBasic || from.Auth == record.AuthToken
}

// partURL checks the URL in a file, as the URL of a registered repository is
// checked.
func partURL(w gitagent.Wanted, allowHTTP bool) (string, error) {
	if w.Kind != record.Git {
		u, err := url.Parse(w.URL)
		if err != nil || u.Host == "" || u.User != nil {
			return "", errcode.New(errcode.Unprocessable, "%.200q is not a URL of a chart repository, or holds a user or password", repourl.Shown(w.URL))
		}
		return strings.TrimRight(w.URL, "/"), nil
	}
	loc, _, password, err := git.ParseURL(w.URL, allowHTTP)
	if err != nil {
		return "", errcode.New(errcode.Unprocessable, "%s", errcode.Message(err))
	}
	if password != "" {
		return "", errcode.New(errcode.Unprocessable, "the URL of %s holds a password; register the repository with its credentials instead", loc.Host)
	}
	return loc.String(), nil
}

// origin returns the server of a URL; credentials apply to one server.
func origin(raw string) string {
	u, err := url.Parse(repourl.Normal(string(record.Helm), raw))
	if err != nil {
		return raw
	}
	return u.Scheme + "://" + u.Host
}
