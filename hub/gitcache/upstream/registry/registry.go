package registry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	maxManifest = 4 << 20
	maxTags     = 10_000
	// leastPage is how many tags a registry sends at once at least, whatever it is
	// asked for: 50 at quay.io, 100 at most others.
	leastPage    = 50
	maxReferrers = 1_000
)

// Login are the credentials for a registry. The zero value is anonymous.
type Login struct {
	Username, Password string
	// AccessToken is sent unchanged, RefreshToken is exchanged for one.
	AccessToken, RefreshToken string
}

// Config configures a Registry. Host and Client are required.
type Config struct {
	// Host is the registry's name, with its port when it has one.
	Host      string
	PlainHTTP bool
	Client    *wire.Client
	// Login is called when the registry requires credentials; nil is anonymous.
	Login func(ctx context.Context) (Login, error)
}

// Registry is one registry. It is safe for concurrent use.
type Registry struct {
	config Config
	client *auth.Client

	mu    sync.Mutex
	repos map[string]*remote.Repository
}

// New opens no connection.
func New(c Config) *Registry {
	client := &auth.Client{Client: c.Client.HTTP(), Cache: auth.NewCache(), ClientID: "axle"}
	if c.Login != nil {
		client.Credential = func(ctx context.Context, host string) (auth.Credential, error) {
			if host != c.Host && !(c.Host == "docker.io" && host == "registry-1.docker.io") {
				return auth.EmptyCredential, nil
			}
			l, err := c.Login(ctx)
			return auth.Credential{Username: l.Username, Password: l.Password, AccessToken: l.AccessToken, RefreshToken: l.RefreshToken}, err
		}
	}
	return &Registry{config: c, client: client, repos: map[string]*remote.Repository{}}
}

// name matches repository paths of the distribution specification.
var name = regexp.MustCompile(`^[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)

// ValidName reports whether a path is a valid repository name.
func ValidName(path string) bool { return len(path) <= 255 && name.MatchString(path) }

func (r *Registry) repo(path string) (*remote.Repository, error) {
	if !ValidName(path) {
		return nil, errcode.New(errcode.Unprocessable, "%.200q cannot be the name of a repository in a registry; names are in lower case", path)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if repo := r.repos[path]; repo != nil {
		return repo, nil
	}
	repo, err := remote.NewRepository(r.config.Host + "/" + path)
	if err != nil {
		return nil, errcode.New(errcode.Unprocessable, "%s/%.200s cannot be the name of a repository", r.config.Host, path)
	}
	repo.Client, repo.PlainHTTP = r.client, r.config.PlainHTTP
	repo.ManifestMediaTypes = []string{ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex,
		"application/vnd.docker.distribution.manifest.v2+json", "application/vnd.docker.distribution.manifest.list.v2+json",
		"application/vnd.oci.artifact.manifest.v1+json"}
	repo.TagListPageSize, repo.TagListMaxPages, repo.ReferrerListMaxPages = 1000, maxTags/leastPage, 20
	repo.MaxMetadataBytes = maxManifest
	r.repos[path] = repo
	return repo, nil
}

// explain converts an error about a reference.
func (r *Registry) explain(what string, err error) error {
	var coded *errcode.Error
	status := statusOf(err)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return coded
	case errors.Is(err, context.Canceled):
		return err
	case status == http.StatusUnauthorized:
		return errcode.New(errcode.Unauthorized, "%s answers 401 Unauthorized for %s; check the repository's credentials%s", r.config.Host, what, r.wordsOf(err))
	case status == http.StatusForbidden:
		return errcode.New(errcode.Unauthorized, "%s answers 403 Forbidden for %s; these credentials may not read it%s", r.config.Host, what, r.wordsOf(err))
	case errors.Is(err, errdef.ErrNotFound), status == http.StatusNotFound:
		return errcode.New(errcode.NotFound, "%s does not exist", what)
	case status != 0:
		return errcode.New(errcode.Unavailable, "%s answers %d for %s%s", r.config.Host, status, what, r.wordsOf(err))
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return errcode.New(errcode.Unauthorized, "%s asks for credentials for %s and the repository has none", r.config.Host, what)
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData), errors.Is(err, io.ErrUnexpectedEOF):
		return errcode.New(errcode.Unavailable, "%s sends other bytes for %s than its digest promises", r.config.Host, what)
	}
	scheme := "https"
	if r.config.PlainHTTP {
		scheme = "http"
	}
	return wire.Explain(scheme+"://"+r.config.Host, err)
}

// Ping checks that the registry answers and accepts the credentials.
func (r *Registry) Ping(ctx context.Context) error {
	reg, err := remote.NewRegistry(r.config.Host)
	if err != nil {
		return errcode.New(errcode.Invalid, "%.200q is not a registry host", r.config.Host)
	}
	reg.Client, reg.PlainHTTP = r.client, r.config.PlainHTTP
	return r.explain(r.config.Host, reg.Ping(ctx))
}

// Resolve returns what a tag or digest is now. errcode.NotFound.
func (r *Registry) Resolve(ctx context.Context, path, ref string) (ocispec.Descriptor, error) {
	repo, err := r.repo(path)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d, err := repo.Manifests().Resolve(ctx, ref)
	if headless(err) {
		var body io.ReadCloser
		if d, body, err = repo.Manifests().FetchReference(ctx, ref); err == nil {
			err = body.Close()
		}
	}
	return d, r.explain(r.name(path, ref), err)
}

// headless reports whether a registry refuses HEAD, or answers it without the digest. The
// manifest itself says both.
func headless(err error) bool {
	switch statusOf(err) {
	case http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusBadRequest:
		return true
	case 0:
		return err != nil && (strings.Contains(err.Error(), "missing required header") || strings.Contains(err.Error(), "unknown response Content-Length"))
	}
	return false
}

func (r *Registry) name(path, ref string) string {
	sep := ":"
	if strings.Contains(ref, ":") {
		sep = "@"
	}
	return r.config.Host + "/" + path + sep + ref
}

// errEnough ends a listing.
var errEnough = errors.New("enough")

// Tags lists the tags of a repository.
func (r *Registry) Tags(ctx context.Context, path string) ([]string, error) {
	repo, err := r.repo(path)
	if err != nil {
		return nil, err
	}
	var tags []string
	err = repo.Tags(ctx, "", func(page []string) error {
		if tags = append(tags, page...); len(tags) > maxTags {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) || errors.Is(err, errdef.ErrTooManyPages) {
		return nil, errcode.New(errcode.Unprocessable, "%s/%s has more than %d tags; name one instead of a range", r.config.Host, path, maxTags)
	}
	return tags, r.explain("the tags of "+r.config.Host+"/"+path, err)
}

// Manifest reads a manifest by its descriptor.
func (r *Registry) Manifest(ctx context.Context, path string, d ocispec.Descriptor) (ocispec.Manifest, error) {
	raw, err := r.bytes(ctx, path, d, true)
	if err != nil {
		return ocispec.Manifest{}, err
	}
	var m struct {
		ocispec.Manifest
		// Blobs is what artifact manifests of the first drafts called layers.
		Blobs []ocispec.Descriptor `json:"blobs"`
	}
	if err := bounded.JSON(raw, &m, bounded.Most(maxManifest)); err != nil {
		return ocispec.Manifest{}, errcode.New(errcode.Unprocessable, "the manifest %s is not valid JSON", r.name(path, d.Digest.String()))
	}
	m.Layers = append(m.Layers, m.Blobs...)
	return m.Manifest, nil
}

// Index reads an index by its descriptor.
func (r *Registry) Index(ctx context.Context, path string, d ocispec.Descriptor) (ocispec.Index, error) {
	raw, err := r.bytes(ctx, path, d, true)
	if err != nil {
		return ocispec.Index{}, err
	}
	var x ocispec.Index
	if err := bounded.JSON(raw, &x, bounded.Most(maxManifest)); err != nil {
		return ocispec.Index{}, errcode.New(errcode.Unprocessable, "the index %s is not valid JSON", r.name(path, d.Digest.String()))
	}
	return x, nil
}

// ManifestBytes reads a manifest unchanged.
func (r *Registry) ManifestBytes(ctx context.Context, path string, d ocispec.Descriptor) ([]byte, error) {
	return r.bytes(ctx, path, d, true)
}

// Bytes reads a small blob.
func (r *Registry) Bytes(ctx context.Context, path string, d ocispec.Descriptor) ([]byte, error) {
	return r.bytes(ctx, path, d, false)
}

func (r *Registry) bytes(ctx context.Context, path string, d ocispec.Descriptor, manifest bool) ([]byte, error) {
	what := r.name(path, d.Digest.String())
	if d.Size < 0 || d.Size > maxManifest {
		return nil, errcode.New(errcode.Unprocessable, "%s has %d bytes; at most %d are read", what, d.Size, maxManifest)
	}
	repo, err := r.repo(path)
	if err != nil {
		return nil, err
	}
	var body io.ReadCloser
	if manifest {
		body, err = repo.Manifests().Fetch(ctx, d)
	} else {
		body, err = repo.Blobs().Fetch(wire.OtherHosts(ctx), d)
	}
	if err != nil {
		return nil, r.explain(what, err)
	}
	defer body.Close()
	raw, err := content.ReadAll(body, d)
	return raw, r.explain(what, err)
}

// Copy writes a blob of at most limit bytes to w and compares it with its
// digest: an error may come after bytes were written.
func (r *Registry) Copy(ctx context.Context, path string, d ocispec.Descriptor, limit int64, w io.Writer) error {
	what := r.name(path, d.Digest.String())
	if d.Size < 0 || d.Size > limit {
		return errcode.New(errcode.Unprocessable, "%s has %d bytes; at most %d are allowed", what, d.Size, limit)
	}
	repo, err := r.repo(path)
	if err != nil {
		return err
	}
	body, err := repo.Blobs().Fetch(wire.OtherHosts(ctx), d)
	if err != nil {
		return r.explain(what, err)
	}
	defer body.Close()
	checked := content.NewVerifyReader(body, d)
	if _, err = io.Copy(w, checked); err == nil {
		err = checked.Verify()
	}
	return r.explain(what, err)
}

// Referrers lists the referrers of a manifest, those of the artifact types
// first, from the registry's API or from the fallback tag. The others stay in
// the list, because some registries report another type than the manifest.
func (r *Registry) Referrers(ctx context.Context, path string, d ocispec.Descriptor, types ...string) ([]ocispec.Descriptor, error) {
	repo, err := r.repo(path)
	if err != nil {
		return nil, err
	}
	var out, others []ocispec.Descriptor
	seen := 0
	err = repo.Referrers(ctx, d, "", func(page []ocispec.Descriptor) error {
		if seen += len(page); seen > maxReferrers {
			return errEnough
		}
		for _, x := range page {
			if slices.Contains(types, x.ArtifactType) {
				out = append(out, x)
			} else {
				others = append(others, x)
			}
		}
		return nil
	})
	if errors.Is(err, errEnough) || errors.Is(err, errdef.ErrNotFound) {
		err = nil
	}
	return append(out, others...), r.explain("the referrers of "+r.name(path, d.Digest.String()), err)
}

// FirstLine returns the first line of an annotation, for messages.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return string(bytes.ToValidUTF8([]byte(line), nil))
}
