package bundle

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/release"
)

// Components reads component files of Cluster API from a release.
type Components struct {
	from   source
	folder string
	name   string
}

// OpenComponents opens the folder of a release, a bundle, a folder with the files themselves,
// or a registry.
func OpenComponents(ctx context.Context, a *command.App, from string, plainHTTP bool) (Components, error) {
	out := Components{name: from}
	info, err := os.Stat(from)
	switch {
	case err == nil && info.IsDir() && bare(from):
		out.folder = from
		return out, nil
	case err == nil:
		out.from, err = openLayout(ctx, from)
	case strings.HasPrefix(from, ".") || strings.HasPrefix(from, "/"):
		return out, err
	default:
		out.from, err = openRegistry(a, from, plainHTTP)
	}
	return out, err
}

// bare reports whether a folder has component files and no release.
func bare(folder string) bool {
	_, err := os.Stat(componentIn(folder, "core"))
	return err == nil
}

func componentIn(folder, name string) string { return folder + "/" + name + ".yaml" }

// Read returns the file of a component with a SHA-256, as many bytes long as given.
func (c Components) Read(ctx context.Context, name, sha256 string, size int64) ([]byte, error) {
	var data strings.Builder
	d := ocispec.Descriptor{MediaType: release.TypeComponent, Digest: digest.NewDigestFromEncoded(digest.SHA256, sha256), Size: size}
	if c.from == nil {
		text, err := os.ReadFile(componentIn(c.folder, name))
		if err == nil && digest.FromBytes(text) != d.Digest {
			err = damage{fmt.Sprintf("it is %s, and the hub wants %s", digest.FromBytes(text), d.Digest)}
		}
		return text, c.failed(name, err)
	}
	err := copyBlob(ctx, &data, c.from, release.Components, d)
	return []byte(data.String()), c.failed(name, err)
}

func (c Components) failed(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the component file %s in %s: %w", name, c.name, err)
}
