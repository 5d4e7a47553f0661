package hub

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/hub/atrisk"
	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/config/backend"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/risk"
)

// newValues creates the keeper of values, with the declared backends.
func (h *Hub) newValues(ctx context.Context) (*config.Keeper, error) {
	c := config.Config{Documents: h.store, Inventory: h.store, Values: h.store, Sets: h.store, Uses: h.store, Tells: h.store, Settings: h.store, Writer: h.store, Sealer: h.store.Sealer(), Clock: h.config.Clock, Log: h.log}
	files := gitFiles{h.cache, h.store}
	if h.config.ConfigBackends != "" {
		file, err := backend.Load(h.config.ConfigBackends, files)
		if err != nil {
			return nil, err
		}
		h.backends = file.Backends
		c.Default, c.Refresh = file.Default, file.RefreshEvery
		for _, d := range file.Backends {
			c.Places = append(c.Places, config.Place{Name: d.Name, Type: d.Type, Backend: d.Backend, Prefix: *d.Prefix, Allow: d.Allow})
		}
	}
	if err := files.bind(ctx, h.backends); err != nil {
		return nil, err
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
	store *store.Store
}

// boundRepository begins the settings with the ids of repositories that a backend read
// before the project of its repository counted; boundOnce is set when they are known.
const (
	boundRepository = "sops_repository "
	boundOnce       = "sops_repositories_bound"
)

// repository returns the repository that a backend names: of its project, so that nobody
// else who registers the name is read. NotFound.
func (f gitFiles) repository(ctx context.Context, of backend.SOPSConfig) (gitcache.Repository, error) {
	r, err := f.cache.FindRepository(ctx, of.Repository)
	if err != nil {
		return r, err
	}
	name := cmp.Or(of.Project, fleet.DefaultProject)
	project, err := f.store.ProjectByName(ctx, name, false)
	if err != nil || project.ID == cmp.Or(r.ProjectID, fleet.DefaultProjectID) && !r.Options.Internal {
		return r, err
	}
	if id, err := f.store.Setting(ctx, boundRepository+of.Repository); err != nil || id == r.ID && of.Project == "" {
		return r, err
	}
	return gitcache.Repository{}, errcode.New(errcode.NotFound, "project %s has no repository %q; register it there, or name its project in sops.project", name, of.Repository)
}

// bind notes, once, the repositories that backends read already at the upgrade.
func (f gitFiles) bind(ctx context.Context, declared []backend.Declared) error {
	return f.store.Write(ctx, func(ctx context.Context) error {
		if done, err := f.store.Setting(ctx, boundOnce); done != "" || err != nil {
			return err
		}
		for _, d := range declared {
			if d.SOPS == nil {
				continue
			}
			r, err := f.cache.FindRepository(ctx, d.SOPS.Repository)
			if errcode.Is(err, errcode.NotFound) {
				continue
			}
			if err == nil {
				err = f.store.SetSetting(ctx, boundRepository+d.SOPS.Repository, r.ID)
			}
			if err != nil {
				return err
			}
		}
		return f.store.SetSetting(ctx, boundOnce, "true")
	})
}

// atRisk finds backends whose repository is read only because it was at the upgrade.
func (f gitFiles) atRisk(declared []backend.Declared) atrisk.Part {
	return func(ctx context.Context) (risks []risk.Risk, err error) {
		for _, d := range declared {
			if d.SOPS == nil || d.SOPS.Project != "" {
				continue
			}
			r, err := f.cache.FindRepository(ctx, d.SOPS.Repository)
			if errcode.Is(err, errcode.NotFound) || err == nil && cmp.Or(r.ProjectID, fleet.DefaultProjectID) == fleet.DefaultProjectID {
				continue
			}
			if err != nil {
				return nil, err
			}
			if id, err := f.store.Setting(ctx, boundRepository+r.Name); err != nil || id != r.ID {
				return risks, err
			}
			projects, err := f.store.ProjectsByID(ctx, []string{r.ProjectID})
			if err != nil || len(projects) == 0 {
				return risks, err
			}
			risks = append(risks, risk.Risk{Kind: "backend", Object: "backend " + d.Name,
				Why:     "it reads the repository " + r.Name + " of another project than the one that it names, which is default if it names none",
				Command: "# in the file of --config-backends: sops.project: " + projects[0].Name})
		}
		return risks, nil
	}
}

var _ backend.Files = gitFiles{}

// File implements backend.Files. The folder is followed like a service's, so
// that fetched content does not depend on the upstream.
func (f gitFiles) File(ctx context.Context, of backend.SOPSConfig, name string) ([]byte, error) {
	repository, ref, folder := of.Repository, of.Ref, of.Folder
	r, err := f.repository(ctx, of)
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
