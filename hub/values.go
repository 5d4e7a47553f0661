package hub

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/config/backend"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/errcode"
)

// newValues creates the keeper of values, with the declared backends.
func (h *Hub) newValues() (*config.Keeper, error) {
	c := config.Config{Documents: h.store, Inventory: h.store, Values: h.store, Sets: h.store, Uses: h.store, Tells: h.store, Settings: h.store, Writer: h.store, Sealer: h.store.Sealer(), Clock: h.config.Clock, Log: h.log}
	if h.config.ConfigBackends != "" {
		file, err := backend.Load(h.config.ConfigBackends, gitFiles{h.cache, h.store})
		if err != nil {
			return nil, err
		}
		c.Default, c.Refresh = file.Default, file.RefreshEvery
		for _, d := range file.Backends {
			c.Places = append(c.Places, config.Place{Name: d.Name, Type: d.Type, Backend: d.Place, Prefix: *d.Prefix, Allow: d.Allow})
		}
	}
	return config.New(c)
}

// maxValuesFile limits a file of values in Git.
const maxValuesFile = 4 << 20

// maxWindow limits the memory that a tarball may require.
const maxWindow = 32 << 20

// gitFiles gives backends the files of repositories; they and the git cache do
// not know each other.
type gitFiles struct {
	cache *gitcache.Cache
	store config.Writer
}

var _ backend.Files = gitFiles{}

// File implements backend.Files. The folder is followed like a service's, so
// that fetched content does not depend on the upstream.
func (f gitFiles) File(ctx context.Context, repository, ref, folder, name string) ([]byte, error) {
	r, err := f.cache.FindRepository(ctx, repository)
	if err != nil {
		return nil, err
	}
	source, err := gitcache.Source{RepositoryID: r.ID, Ref: ref, Folder: strings.Trim(folder, "/")}.Settle(r.Kind)
	if err != nil {
		return nil, err
	}
	if err := f.store.Write(ctx, func(ctx context.Context) error { return f.cache.Track(ctx, source) }); err != nil {
		return nil, err
	}
	head, err := f.cache.Head(ctx, source.ID)
	if errcode.Is(err, errcode.NotFound) {
		head, err = f.cache.Resolve(ctx, source)
	}
	if err != nil {
		return nil, err
	}
	if head.Digest == "" {
		return nil, errcode.New(errcode.Unavailable, "folder %q at %s of repository %s has no content yet: %s", folder, ref, repository, head.Error)
	}
	t, err := f.cache.Fetch(ctx, head.Digest)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return fileOf(t, path.Join(head.Entry, name))
}

// fileOf reads one file of a tarball.
func fileOf(r io.Reader, name string) ([]byte, error) {
	plain, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	for files := tar.NewReader(plain); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil, errcode.New(errcode.NotFound, "file %q does not exist", name)
		}
		if err != nil {
			return nil, err
		}
		if path.Clean(h.Name) != name || h.Typeflag != tar.TypeReg {
			continue
		}
		if h.Size > maxValuesFile {
			return nil, errcode.New(errcode.Invalid, "file %q is larger than %d MiB", name, maxValuesFile>>20)
		}
		return io.ReadAll(io.LimitReader(files, maxValuesFile))
	}
}
