package gitcache

import (
	"context"
	"crypto/rand"
	"regexp"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/gitagent"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/rule"
)

// repositoryChanges is what people change.
type repositoryChanges interface {
	CreateRepository(ctx context.Context, r Repository, c Credentials) (Repository, error)
	UpdateRepository(ctx context.Context, r Repository, c *Credentials) (Repository, error)
	DeleteRepository(ctx context.Context, id string) error
}

// repositories checks and stores what people register.
type repositories struct {
	config  *Config
	rows    record.RepositoryReader
	sources sourceReader
	changes repositoryChanges
	git     *git.Git
	changed func(repositoryID string)
}

// Repositories returns all repositories, sorted by name.
func (c *repositories) Repositories(ctx context.Context) ([]Repository, error) {
	return c.rows.Repositories(ctx)
}

// FindRepository returns a registered repository by name. errcode.NotFound, also for
// those that the hub follows by itself: nobody may refer to them.
func (c *repositories) FindRepository(ctx context.Context, name string) (Repository, error) {
	found, err := c.rows.RepositoriesNamed(ctx, []string{name}, nil)
	if err == nil && (len(found) == 0 || found[0].Options.Internal) {
		err = errcode.New(errcode.NotFound, "repository %s does not exist", name)
	}
	if err != nil {
		return Repository{}, err
	}
	return found[0], nil
}

// Repository returns one repository. errcode.NotFound.
func (c *repositories) Repository(ctx context.Context, id string) (Repository, error) {
	return c.rows.Repository(ctx, id)
}

// checkName returns Invalid for a name that nobody can give.
func checkName(name string) error {
	if !rule.Name.Valid(name) {
		return errcode.New(errcode.Invalid, "name: %.80q is not a name; use %s", name, rule.Name.Words)
	}
	return nil
}

// CreateRepository checks the name and the URL and stores a new repository, which is
// polled at once. It uses Name, ProjectID, Kind, URL, Auth and Options of r; an empty
// Kind is Git. The URL is kept as it is written; a user in an https URL is the user of
// the credentials that have none.
// errcode.Invalid, errcode.Conflict.
func (c *repositories) CreateRepository(ctx context.Context, r Repository, creds Credentials) (Repository, error) {
	if err := checkName(r.Name); err != nil {
		return Repository{}, err
	}
	r.Options.Internal = false
	return c.create(ctx, r, creds)
}

// create is CreateRepository for every name.
func (c *repositories) create(ctx context.Context, r Repository, creds Credentials) (Repository, error) {
	r.ID = "repo_" + strings.ToLower(rand.Text())
	if r.Kind == "" {
		r.Kind = record.Git
	}
	if err := c.settle(&r, &creds, true); err != nil {
		return Repository{}, err
	}
	created, err := c.changes.CreateRepository(ctx, r, creds)
	if err == nil {
		c.changed(created.ID)
	}
	return created, err
}

// settle checks the URL, derives the form that the hub uses, and chooses how to
// authenticate when nothing was given.
func (c *repositories) settle(r *Repository, creds *Credentials, given bool) error {
	switch r.Kind {
	case record.Git:
	case record.Helm, record.OCI, record.Bucket:
		return c.settleArtifact(r, creds, given)
	default:
		return errcode.New(errcode.Invalid, "repositories of type %q are not known; use git, helm, oci or bucket", r.Kind)
	}
	loc, user, err := c.location(r)
	if err != nil {
		return err
	}
	if err := gitagent.CheckVerify(r.Options.Verify); err != nil || !given {
		return err
	}
	if creds.Username == "" {
		creds.Username = user
	}
	if creds.Password == "" && tokenText.MatchString(creds.Username) {
		// Git takes a token as the user, without a password. Every server takes it as a password:
		// GitHub and Gitea whatever the user is, GitLab with any but none, Bitbucket with its own.
		creds.Username, creds.Password = "x-access-token", creds.Username
		if strings.HasPrefix(creds.Password, "ATCTT") {
			creds.Username = "x-token-auth"
		}
	}
	switch {
	case loc.Scheme == "ssh":
		r.Auth = record.AuthSSH
		if creds.PrivateKey == "" || creds.KnownHosts == "" && !git.Published(loc) {
			return errcode.New(errcode.Invalid, "an ssh repository needs a private key and the server's known_hosts lines (ssh-keyscan %s prints them; compare before you trust them): as privateKey and knownHosts of the manifest's Secret, or with --ssh-key-file and --known-hosts-file", loc.Host)
		}
	case r.Auth == record.AuthSSH:
		return errcode.New(errcode.Invalid, "authentication ssh needs an ssh URL")
	case r.Auth == record.AuthApp:
		if creds.AppID == "" || creds.PrivateKey == "" {
			return errcode.New(errcode.Invalid, "a GitHub App needs its id and its private key; the installation is found when its id is not given")
		}
	case r.Auth == record.AuthNone && creds.Password != "":
		r.Auth = record.AuthBasic
	case r.Auth != record.AuthNone && r.Auth != record.AuthBasic && r.Auth != record.AuthToken:
		return errcode.New(errcode.Invalid, "authentication %q is not for Git repositories; use basic, token, ssh or app", r.Auth)
	case r.Auth != record.AuthNone && creds.Password == "":
		return errcode.New(errcode.Invalid, "authentication %s needs a password or token", r.Auth)
	}
	// Report unusable settings now, not at the first poll.
	s, err := c.git.Server(gitagent.Access(*r, *creds))
	if err == nil {
		s.Close()
	}
	return err
}

// location sets the URL of a Git repository, and how it was written unless that is known
// of this URL. It also returns the user in an https URL.
func (c *repositories) location(r *Repository) (loc git.Location, user string, err error) {
	loc, user, password, err := git.ParseURL(r.Written, c.config.AllowHTTP)
	if err != nil || loc.String() != r.URL {
		r.Written = strings.TrimSpace(r.URL)
		loc, user, password, err = git.ParseURL(r.Written, c.config.AllowHTTP)
	}
	if err != nil {
		return loc, "", err
	}
	r.URL = loc.String()
	return loc, user, holdsSecret(user, password)
}

// tokenText matches users that are tokens: those of GitHub, GitLab and Bitbucket, and
// long ones of others.
var tokenText = regexp.MustCompile(`^(gh[oprsu]_|github_pat_|gl(pat|ptt|dt|cbt|soat|ft)-|ATBB|ATCTT)|^\w{40,}$`)

// holdsSecret refuses a URL with a secret: everybody who sees the repository sees it.
func holdsSecret(user, password string) error {
	if password != "" || tokenText.MatchString(user) {
		return errcode.New(errcode.Invalid, "repository URL holds a password or token; give it as credentials")
	}
	return nil
}

// UpdateRepository replaces name, project, URL, auth and options of a
// repository, and its credentials unless creds is nil; with nil, a change must
// not send the stored credentials elsewhere. With another URL, not only another
// spelling of it, the repository is like a new one, and services keep their content
// until its first fetch.
// A repository keeps a name of before there was a rule for them.
// errcode.Invalid, errcode.NotFound, errcode.Conflict.
func (c *repositories) UpdateRepository(ctx context.Context, r Repository, creds *Credentials) (Repository, error) {
	before, err := c.rows.Repository(ctx, r.ID)
	if err == nil && before.Name != r.Name {
		err = checkName(r.Name)
	}
	if err != nil {
		return Repository{}, err
	}
	if err := c.settle(&r, creds, creds != nil); err != nil {
		return Repository{}, err
	}
	if creds == nil {
		if err := c.keepsSecret(ctx, before, &r); err != nil {
			return Repository{}, err
		}
	}
	updated, err := c.changes.UpdateRepository(ctx, r, creds)
	if err == nil {
		c.changed(updated.ID)
	}
	return updated, err
}

// keepsSecret refuses a change that would send stored credentials elsewhere,
// and checks what is left of them at another URL. The store checks again, in
// the transaction of the change.
func (c *repositories) keepsSecret(ctx context.Context, before Repository, r *Repository) error {
	kept, err := c.rows.Credentials(ctx, r.ID)
	if err == nil {
		err = record.KeepsSecret(before, *r, kept)
	}
	if err == nil && before.URL != r.URL {
		err = c.settle(r, &kept, true)
	}
	return err
}

// DeleteRepository removes a repository that nothing uses. errcode.NotFound,
// errcode.Conflict.
func (c *repositories) DeleteRepository(ctx context.Context, id string) error {
	if err := c.changes.DeleteRepository(ctx, id); err != nil {
		return err
	}
	c.changed("")
	return nil
}

// sourceReader reads the sources in use.
type sourceReader interface {
	Sources(ctx context.Context, repositoryID string) ([]Source, error)
}

// Sources returns the sources in use of a repository, for people.
func (c *repositories) Sources(ctx context.Context, repositoryID string) ([]Source, error) {
	return c.sources.Sources(ctx, repositoryID)
}
