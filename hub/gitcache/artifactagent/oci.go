package artifactagent

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream/chartindex"
	"github.com/axle-cd/axle/hub/gitcache/upstream/registry"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

// artifacts is a repository in a registry, or the parent folder of several.
type artifacts struct {
	config     *Config
	repository record.Repository
	client     *wire.Client
	registry   *registry.Registry
	path       string // in the registry
	// charts is set where only charts are read: those of an index.
	charts bool
	found  map[wanted]answer
}

// wanted is a reference that a source resolves at a registry.
type wanted struct{ folder, ref string }

// answer is the registry's result.
type answer struct {
	path       string
	tag        string // empty for a digest
	descriptor ocispec.Descriptor
	err        error
}

func newArtifacts(c *Config, r record.Repository, creds record.Credentials, client *wire.Client) (protocol, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the repository's URL cannot be read")
	}
	login, err := c.registryLogin(r, creds, client, u.Host)
	if err != nil {
		return nil, err
	}
	if r.Options.PlainHTTP && !c.AllowHTTP {
		return nil, errcode.New(errcode.Invalid, "the repository asks for plain http, which this hub does not allow")
	}
	return &artifacts{config: c, repository: r, client: client, path: strings.Trim(u.Path, "/"), found: map[wanted]answer{},
		registry: registry.New(registry.Config{Host: u.Host, PlainHTTP: r.Options.PlainHTTP, Client: client, Login: login})}, nil
}

func (a *artifacts) close() { a.client.Close() }

// refresh resolves each tag in use.
func (a *artifacts) refresh(ctx context.Context, sources []record.Source) error {
	found := map[wanted]answer{}
	var failed error
	good := 0
	for _, s := range sources {
		w := wanted{s.Folder, s.Ref}
		if _, ok := found[w]; ok {
			continue
		}
		got := a.ask(ctx, w)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		found[w] = got
		if code := errcode.Of(got.err); got.err == nil || code == errcode.NotFound || code == errcode.Unprocessable {
			good++
		} else if failed == nil || errcode.RetryAfter(got.err) > errcode.RetryAfter(failed) {
			failed = got.err
		}
		if errcode.RetryAfter(got.err) > 0 {
			return got.err // the registry asked to be called later
		}
	}
	if len(found) == 0 {
		return a.registry.Ping(ctx)
	}
	if good == 0 && failed != nil {
		return failed
	}
	a.found = found
	return nil
}

// ask resolves one reference. A folder is the name of a chart below the
// repository, or a folder inside the artifact when there is no such chart.
func (a *artifacts) ask(ctx context.Context, w wanted) answer {
	if w.folder == "" {
		return a.askAt(ctx, a.path, w.ref)
	}
	below := a.path + "/" + w.folder
	got := answer{path: below, err: errcode.New(errcode.NotFound, "%s does not exist", below)}
	if registry.ValidName(below) {
		got = a.askAt(ctx, below, w.ref)
	}
	// Registries that hide what exists answer "forbidden" instead.
	if code := errcode.Of(got.err); code == errcode.NotFound || code == errcode.Unauthorized {
		if inside := a.askAt(ctx, a.path, w.ref); inside.err == nil {
			return inside
		}
	}
	return got
}

// span matches references that can only be a range of versions.
var span = regexp.MustCompile(`[<>=~^*|, ]|(^|\.)[xX](\.|$)`)

func (a *artifacts) askAt(ctx context.Context, path, ref string) answer {
	got := answer{path: path}
	if strings.HasPrefix(ref, "sha256:") || strings.HasPrefix(ref, "sha512:") {
		if _, got.err = digest.Parse(ref); got.err != nil {
			got.err = errcode.New(errcode.Unprocessable, "%.200q is not a digest", ref)
			return got
		}
		got.descriptor, got.err = a.registry.Resolve(ctx, path, ref)
		return got
	}
	if !span.MatchString(ref) {
		got.tag = tagOf(ref)
		got.descriptor, got.err = a.registry.Resolve(ctx, path, got.tag)
		if !errcode.Is(got.err, errcode.NotFound) {
			return got
		}
		if _, exact := semver.StrictNewVersion(strings.TrimPrefix(ref, "v")); exact == nil {
			return got
		}
		if _, err := semver.NewConstraint(ref); err != nil {
			return got
		}
	}
	tag, err := a.newest(ctx, path, ref)
	if err != nil {
		got.err = err
		return got
	}
	got.tag = tag
	got.descriptor, got.err = a.registry.Resolve(ctx, path, tag)
	return got
}

// tagOf returns the tag that Helm uses for a version: a tag cannot contain a
// plus.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

// newest selects the tag with the highest version in a range.
func (a *artifacts) newest(ctx context.Context, path, wanted string) (string, error) {
	tags, err := a.registry.Tags(ctx, path)
	if err != nil {
		return "", err
	}
	versions := make([]string, len(tags))
	for i, t := range tags {
		versions[i] = strings.ReplaceAll(t, "_", "+")
	}
	// "2024" and "1.2" are versions for want of others.
	best, err := chartindex.Newest(wanted, slices.DeleteFunc(slices.Clone(versions), func(v string) bool {
		_, err := semver.StrictNewVersion(strings.TrimPrefix(v, "v"))
		return err != nil
	}))
	if err == nil && best == "" {
		best, err = chartindex.Newest(wanted, versions)
	}
	if err != nil {
		return "", err
	}
	if best == "" {
		return "", errcode.New(errcode.NotFound, "none of the %d tags of %s is a version in %q", len(tags), path, wanted)
	}
	return tagOf(best), nil
}

// knows reports whether the last refresh resolved all sources.
func (a *artifacts) knows(sources []record.Source) bool {
	return !slices.ContainsFunc(sources, func(s record.Source) bool { _, ok := a.found[wanted{s.Folder, s.Ref}]; return !ok })
}

func (a *artifacts) resolve(s record.Source) (target, error) {
	got, ok := a.found[wanted{s.Folder, s.Ref}]
	switch {
	case !ok:
		return target{}, errcode.New(errcode.Unavailable, "%q was not resolved at the registry yet; the next poll does", s.Ref)
	case errcode.Is(got.err, errcode.NotFound):
		// Waiting would not help, and upstream is healthy.
		return target{}, errcode.New(errcode.Unprocessable, "%s", errcode.Message(got.err))
	case got.err != nil:
		return target{}, got.err
	}
	t := a.target(got.path, got.descriptor)
	if got.tag != "" {
		t.Revision = got.tag + "@" + t.Revision
	}
	if s.Folder != "" && got.path == a.path {
		t.Entry = s.Folder
	}
	return t, nil
}

func (a *artifacts) target(path string, d ocispec.Descriptor) target {
	return target{Revision: d.Digest.String(), Commit: d.Digest.String(), Folder: strings.Trim(strings.TrimPrefix(path, a.path), "/"),
		Key: strings.Join([]string{"oci 2", path, d.Digest.String(), fingerprint(a.repository.Options.Verify)}, "\n"),
		url: path, digest: d.Digest.String(), media: d.MediaType, size: d.Size}
}

// recall converts a recipe, which names its manifest by digest, into a target.
func (a *artifacts) recall(r record.Recipe) (target, error) {
	d, err := digest.Parse(r.Commit)
	if err != nil {
		return target{}, errcode.New(errcode.Unprocessable, "the recipe names %.100q, which is not a digest", r.Commit)
	}
	path := a.path
	if r.Folder != "" {
		path += "/" + r.Folder
	}
	t := a.target(path, ocispec.Descriptor{Digest: d})
	t.Key = r.Tree // of the version that wrote the recipe
	return t, nil
}

// complete adds the manifest's annotations to a target.
func complete(t *target, notes map[string]string) {
	if at, err := time.Parse(time.RFC3339, notes[ocispec.AnnotationCreated]); err == nil {
		t.CreatedAt = at.UTC()
	}
	if revision := registry.FirstLine(notes[ocispec.AnnotationRevision]); revision != "" {
		t.Message = "from " + revision
	} else {
		t.Message = registry.FirstLine(notes[ocispec.AnnotationTitle])
	}
	t.Author = registry.FirstLine(notes[ocispec.AnnotationAuthors])
	t.Message, t.Author = cut(t.Message), cut(t.Author)
}

// cut limits the length of untrusted texts.
func cut(s string) string {
	if r := []rune(s); len(r) > 200 {
		return string(r[:200])
	}
	return s
}
