package bundle

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/buildinfo"
)

// answerWithin bounds how long a registry may think about one request.
const answerWithin = 2 * time.Minute

// registry is a release in a registry.
type registry struct {
	// prefix is the host, perhaps with a path.
	prefix string
	plain  bool
	client *auth.Client
}

// openRegistry opens no connection. Credentials are those of docker login.
func openRegistry(a *command.App, prefix string, plainHTTP bool) (*registry, error) {
	if strings.Contains(prefix, "://") || strings.Trim(prefix, "/") != prefix || prefix == "" {
		return nil, exitcode.Usagef("%q is no registry: give HOST[:PORT][/PATH], without a scheme", prefix)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = answerWithin
	if a.CAFile != "" {
		pem, err := os.ReadFile(a.CAFile)
		if err != nil {
			return nil, err
		}
		roots, err := x509.SystemCertPool()
		if err != nil {
			return nil, err
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate", a.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	client := &auth.Client{Client: &http.Client{Transport: retry.NewTransport(transport)}, Cache: auth.NewCache(), ClientID: "axle"}
	client.SetUserAgent("axle/" + buildinfo.Version)
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, fmt.Errorf("the credentials of docker login: %w", err)
	}
	client.Credential = credentials.Credential(store)
	return &registry{prefix, plainHTTP, client}, nil
}

func (r *registry) repository(name string) (*remote.Repository, error) {
	repo, err := remote.NewRepository(r.prefix + "/" + name)
	if err != nil {
		return nil, exitcode.Usagef("%s/%s is no repository: %v", r.prefix, name, err)
	}
	repo.PlainHTTP, repo.Client = r.plain, r.client
	return repo, nil
}

func (r *registry) resolve(ctx context.Context, name string) (ocispec.Descriptor, error) {
	repository, tag, _ := strings.Cut(name, ":")
	repo, err := r.repository(repository)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	d, err := repo.Resolve(ctx, tag)
	return plain(d), err
}

func (r *registry) fetch(ctx context.Context, repository string, d ocispec.Descriptor) (io.ReadCloser, error) {
	repo, err := r.repository(repository)
	if err != nil {
		return nil, err
	}
	return repo.Fetch(ctx, d)
}

// lacking are the roots that a registry does not have yet under their names. Other
// content under one of these names is an error, before anything is written: it may be
// in use. A signature or a statement that somebody added beside ours is not.
func (r *registry) lacking(ctx context.Context, i *inventory, from *layout) ([]root, error) {
	var out []root
	var taken []string
	for _, root := range i.roots {
		there, err := r.resolve(ctx, root.name())
		var answer *errcode.ErrorResponse
		switch {
		case err != nil && !errors.Is(err, errdef.ErrNotFound) && !errors.As(err, &answer):
			return nil, fmt.Errorf("ask %s for %s: %w", r.prefix, root.name(), err)
		case err != nil || there.Digest == root.Digest: // "denied" may mean that it is not there; the push says it otherwise
			out = append(out, root)
		case !r.extends(ctx, there, root, from):
			taken = append(taken, fmt.Sprintf("%s is %s there, %s here", root.name(), there.Digest, root.Digest))
		}
	}
	if len(taken) > 0 {
		return nil, fmt.Errorf("%s has something else under names of this release, and nothing was pushed:\n  %s\npush below another path (%s/PATH), or replace what is there with --overwrite", r.prefix, strings.Join(taken, "\n  "), r.prefix)
	}
	return out, nil
}

// extends says whether a manifest of signatures in the registry has all of ours.
func (r *registry) extends(ctx context.Context, there ocispec.Descriptor, ours root, from *layout) bool {
	if !strings.HasPrefix(ours.tag, "sha256-") {
		return false
	}
	var have, want ocispec.Manifest
	for _, side := range []struct {
		from source
		d    ocispec.Descriptor
		into *ocispec.Manifest
	}{{r, there, &have}, {from, ours.Descriptor, &want}} {
		data, err := (&reader{from: side.from}).manifest(ctx, ours.repository, side.d)
		if err != nil || unmarshal(data, side.into) != nil {
			return false
		}
	}
	for _, l := range want.Layers {
		same := func(h ocispec.Descriptor) bool {
			return h.Digest == l.Digest && maps.Equal(h.Annotations, l.Annotations)
		}
		if !slices.ContainsFunc(have.Layers, same) {
			return false
		}
	}
	return true
}

// push copies everything that the registry lacks, then the names. The list of the
// release comes last.
func (r *registry) push(ctx context.Context, roots []root, from *layout, progress func(name string, done int64)) error {
	var done int64
	for _, root := range roots {
		repo, err := r.repository(root.repository)
		if err != nil {
			return err
		}
		progress(root.name(), done)
		options := oras.CopyGraphOptions{Concurrency: 1, MaxMetadataBytes: maxManifest}
		count := func(_ context.Context, d ocispec.Descriptor) error {
			done += d.Size
			progress(root.name(), done)
			return nil
		}
		options.PostCopy, options.OnCopySkipped = count, count
		err = oras.CopyGraph(ctx, from.store, repo, root.Descriptor, options)
		if err == nil {
			err = repo.Tag(ctx, root.Descriptor, root.tag)
		}
		if errors.Is(err, context.Canceled) {
			return err
		}
		if err != nil {
			return fmt.Errorf("push %s/%s: %w; what arrived stays, run the command again to go on", r.prefix, root.name(), err)
		}
	}
	return nil
}
