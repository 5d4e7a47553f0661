package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"

	"github.com/axle-cd/axle/internal/release"
)

const maxManifest = 4 << 20

// part is one blob of a release.
type part struct {
	ocispec.Descriptor
	repository string
	// label says what it is, for people.
	label string
}

// inventory is everything that belongs to a release, and what is wrong with it.
type inventory struct {
	release *release.Release
	// roots are the named manifests in the order in which a registry gets them.
	roots []root
	// parts are all blobs, each once.
	parts []part
	// problems say what was altered or is missing.
	problems []string

	seen map[digest.Digest]bool
}

// root is a manifest with its name.
type root struct {
	ocispec.Descriptor
	repository, tag string
}

func (r root) name() string { return r.repository + ":" + r.tag }

// reader collects the inventory of a source.
type reader struct {
	from source
	// key is nil if signatures do not count.
	key *release.Key
	inventory
}

// take reads the manifests of a release and checks its signatures. An error means that
// there is no release to look at; what is wrong with one is in problems.
func take(ctx context.Context, from source, version string, key *release.Key) (*inventory, error) {
	r := &reader{from: from, key: key, inventory: inventory{seen: map[digest.Digest]bool{}}}
	top, err := from.resolve(ctx, release.Repository+":"+version)
	if err != nil {
		return nil, fmt.Errorf("no release %s there: %w", version, err)
	}
	data, err := r.manifest(ctx, release.Repository, top)
	if err != nil {
		return nil, fmt.Errorf("the list of the release: %w", err)
	}
	var m ocispec.Manifest
	if err := unmarshal(data, &m); err != nil {
		return nil, err
	}
	list, err := r.manifest(ctx, release.Repository, m.Config)
	if err != nil {
		return nil, fmt.Errorf("the list of the release: %w", err)
	}
	if r.release, err = release.Parse(list); err != nil {
		return nil, err
	}
	whole := release.Artifact{Repository: release.Repository, Tag: r.release.Version, Digest: top.Digest}
	if version != r.release.Version {
		r.problem("the release is %s by its contents and %s by its name", r.release.Version, version)
	}
	// The list first: nothing else is believed without it.
	if err := r.signed(ctx, whole); err != nil {
		return nil, err
	}
	for _, a := range r.release.Artifacts {
		if err := r.artifact(ctx, a); err != nil {
			return nil, err
		}
	}
	if err := r.descend(ctx, whole.Repository, top, whole.Ref()); err != nil {
		return nil, err
	}
	r.roots = append(r.roots, root{top, whole.Repository, whole.Tag})
	return &r.inventory, nil
}

func (r *reader) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// artifact takes an image or a chart by the digest of the signed list, whatever the
// source says about its name.
func (r *reader) artifact(ctx context.Context, a release.Artifact) error {
	named, err := r.from.resolve(ctx, a.Ref())
	switch {
	case errors.Is(err, errdef.ErrNotFound):
		r.problem("%s is missing", a.Ref())
		return nil
	case err != nil:
		return err
	case named.Digest != a.Digest:
		r.problem("%s was exchanged: it is %s, the release has %s", a.Ref(), named.Digest, a.Digest)
		return nil
	}
	if err := r.signed(ctx, a); err != nil {
		return err
	}
	if err := r.descend(ctx, a.Repository, named, a.Ref()); err != nil {
		return err
	}
	r.roots = append(r.roots, root{named, a.Repository, a.Tag})
	return nil
}

// signed checks what lies beside an artifact, and takes it.
func (r *reader) signed(ctx context.Context, a release.Artifact) error {
	for _, what := range []string{"sig", "att"} {
		name := a.Beside(what)
		d, err := r.from.resolve(ctx, name)
		if errors.Is(err, errdef.ErrNotFound) {
			switch {
			case r.key == nil:
			case what == "sig":
				r.problem("%s is not signed", a.Ref())
			case len(a.Attested) > 0:
				r.problem("%s, its attestations: %v", a.Ref(), release.Missing(a.Attested))
			}
			continue
		}
		if err != nil {
			return err
		}
		label := a.Ref() + map[string]string{"sig": ", its signature", "att": ", its attestations"}[what]
		before := len(r.problems)
		if err := r.descend(ctx, a.Repository, d, label); err != nil {
			return err
		}
		_, tag, _ := strings.Cut(name, ":")
		r.roots = append(r.roots, root{d, a.Repository, tag})
		if r.key == nil || len(r.problems) > before {
			continue
		}
		if err := r.verify(ctx, a, what, d); err != nil {
			r.problem("%s: %v", label, err)
		}
	}
	return nil
}

func (r *reader) verify(ctx context.Context, a release.Artifact, what string, d ocispec.Descriptor) error {
	manifest, err := r.manifest(ctx, a.Repository, d)
	if err != nil {
		return err
	}
	var m ocispec.Manifest
	if err := unmarshal(manifest, &m); err != nil {
		return err
	}
	read := func(sum digest.Digest) ([]byte, error) {
		for _, l := range m.Layers {
			if l.Digest == sum {
				return r.manifest(ctx, a.Repository, l)
			}
		}
		return nil, errdef.ErrNotFound
	}
	if what == "sig" {
		return r.key.VerifySignature(manifest, a.Digest, read)
	}
	return r.key.VerifyAttestations(manifest, a, read)
}

// descend takes a manifest or an index and everything below it.
func (r *reader) descend(ctx context.Context, repository string, d ocispec.Descriptor, label string) error {
	if r.seen[d.Digest] {
		return nil
	}
	r.seen[d.Digest] = true
	r.parts = append(r.parts, part{plain(d), repository, label})
	if d.MediaType != ocispec.MediaTypeImageManifest && d.MediaType != ocispec.MediaTypeImageIndex {
		return nil
	}
	data, err := r.manifest(ctx, repository, d)
	if damaged := (damage{}); errors.As(err, &damaged) {
		r.problem("%s: %v", label, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", label, err)
	}
	var m struct {
		Config    *ocispec.Descriptor  `json:"config"`
		Layers    []ocispec.Descriptor `json:"layers"`
		Manifests []ocispec.Descriptor `json:"manifests"`
	}
	if err := unmarshal(data, &m); err != nil {
		return fmt.Errorf("%s: %w", label, err)
	}
	for _, child := range m.Manifests {
		below := label
		if child.Platform != nil {
			below += " for " + child.Platform.OS + "/" + child.Platform.Architecture
		}
		if err := r.descend(ctx, repository, child, below); err != nil {
			return err
		}
	}
	if m.Config != nil {
		m.Layers = slices.Insert(m.Layers, 0, *m.Config)
	}
	for n, child := range m.Layers {
		below := fmt.Sprintf("%s, layer %d", label, n)
		if n == 0 && m.Config != nil {
			below = label + ", its config"
		}
		if title := child.Annotations[ocispec.AnnotationTitle]; title != "" {
			below = "file " + title
		}
		if err := r.descend(ctx, repository, child, below); err != nil {
			return err
		}
	}
	return nil
}

// damage is content that is not what its digest says.
type damage struct{ reason string }

func (d damage) Error() string { return d.reason }

// manifest reads a small blob and checks it.
func (r *reader) manifest(ctx context.Context, repository string, d ocispec.Descriptor) ([]byte, error) {
	if d.Size > maxManifest || d.Size < 0 {
		return nil, damage{fmt.Sprintf("a manifest of %d bytes is more than the %d that are allowed", d.Size, maxManifest)}
	}
	var data strings.Builder
	if err := copyBlob(ctx, &data, r.from, repository, d); err != nil {
		return nil, err
	}
	return []byte(data.String()), nil
}

// copyBlob copies a blob and checks its size and digest.
func copyBlob(ctx context.Context, to io.Writer, from source, repository string, d ocispec.Descriptor) error {
	if err := d.Digest.Validate(); err != nil || d.Digest.Algorithm() != digest.SHA256 {
		return damage{fmt.Sprintf("%q is no SHA-256", d.Digest)}
	}
	r, err := from.fetch(ctx, repository, d)
	if errors.Is(err, errdef.ErrNotFound) {
		return damage{"it is missing"}
	}
	if err != nil {
		return err
	}
	defer r.Close()
	sum := digest.SHA256.Digester()
	n, err := io.Copy(io.MultiWriter(to, sum.Hash()), io.LimitReader(r, d.Size+1))
	switch {
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case n != d.Size || sum.Digest() != d.Digest:
		return damage{"it was altered: its content is not that of " + d.Digest.String()}
	}
	return nil
}

func unmarshal(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("not a manifest: %w", err)
	}
	return nil
}
