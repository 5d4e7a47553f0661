package bundle

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"

	"github.com/axle-cd/axle/internal/release"
)

// source is where a release is read from.
type source interface {
	// resolve finds a manifest by repository:tag; the error is errdef.ErrNotFound.
	resolve(ctx context.Context, name string) (ocispec.Descriptor, error)
	// fetch reads a blob, which the caller checks.
	fetch(ctx context.Context, repository string, d ocispec.Descriptor) (io.ReadCloser, error)
}

// layout is a release in a folder or a bundle.
type layout struct {
	store *oci.ReadOnlyStore
	index ocispec.Index
	// entries are the files of a bundle, nil for a folder.
	entries []string
}

// openLayout opens a bundle, or the folder that make release has written.
func openLayout(ctx context.Context, path string) (*layout, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	l := &layout{}
	if info.IsDir() {
		dir := path
		if _, err := os.Stat(filepath.Join(dir, "oci", ocispec.ImageLayoutFile)); err == nil {
			dir = filepath.Join(dir, "oci")
		}
		l.store, err = oci.NewFromFS(ctx, os.DirFS(dir))
		if err == nil {
			err = l.readIndex(os.Open(filepath.Join(dir, ocispec.ImageIndexFile)))
		}
	} else {
		if err := l.readTar(path); err != nil {
			return nil, fmt.Errorf("%s is no bundle, or it is damaged: %w", path, err)
		}
		l.store, err = oci.NewFromTar(ctx, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is neither a bundle nor the folder of a release: %w", path, err)
	}
	return l, nil
}

// readTar lists the files of a bundle and reads its index. Two files of one name are
// refused, because readers of a tar do not agree on which one counts.
func (l *layout) readTar(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	seen := map[string]bool{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || seen[h.Name] {
			return fmt.Errorf("%q is no plain file, or there twice", h.Name)
		}
		seen[h.Name] = true
		l.entries = append(l.entries, h.Name)
		if h.Name == ocispec.ImageIndexFile {
			if err := l.readIndex(io.NopCloser(r), nil); err != nil {
				return err
			}
		}
	}
	if !seen[ocispec.ImageIndexFile] || !seen[ocispec.ImageLayoutFile] {
		return errors.New("it is no OCI layout")
	}
	return nil
}

func (l *layout) readIndex(r io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxManifest))
	if err != nil {
		return err
	}
	return unmarshal(data, &l.index)
}

func (l *layout) resolve(_ context.Context, name string) (ocispec.Descriptor, error) {
	for _, m := range l.index.Manifests {
		if m.Annotations[ocispec.AnnotationRefName] == name {
			return plain(m), nil
		}
	}
	return ocispec.Descriptor{}, fmt.Errorf("%s: %w", name, errdef.ErrNotFound)
}

// versions are those of the lists of releases in the layout.
func (l *layout) versions() []string {
	var out []string
	for _, m := range l.index.Manifests {
		name := m.Annotations[ocispec.AnnotationRefName]
		if version, ok := strings.CutPrefix(name, release.Repository+":"); ok && !strings.HasPrefix(version, "sha256-") {
			out = append(out, version)
		}
	}
	return out
}

func (l *layout) fetch(ctx context.Context, _ string, d ocispec.Descriptor) (io.ReadCloser, error) {
	return l.store.Fetch(ctx, d)
}

// plain is a descriptor without what a layout adds to it.
func plain(d ocispec.Descriptor) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size}
}
