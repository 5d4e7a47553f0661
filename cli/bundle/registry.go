package bundle

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
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

// push copies everything that the registry lacks, then the names. The list of the
// release comes last.
func (r *registry) push(ctx context.Context, i *inventory, from *layout, progress func(name string, done int64)) error {
	var done int64
	for _, root := range i.roots {
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
