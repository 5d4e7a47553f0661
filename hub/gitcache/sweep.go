package gitcache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
)

// The times of the cache's own maintenance.
const (
	// sweepEvery is how often tarballs and sources are checked for removal.
	sweepEvery = 10 * time.Minute
	// dropAfter is how long a source without services is kept, so that a
	// service that is changed back finds it.
	dropAfter = time.Hour
)

// sweepStore is what the sweep reads and deletes.
type sweepStore interface {
	repositoryLister
	Pinned(ctx context.Context, of []digest.Digest) ([]digest.Digest, error)
	Pins(ctx context.Context, repositoryID string) ([]Pin, error)
	Sources(ctx context.Context, repositoryID string) ([]Source, error)
	DropSources(ctx context.Context, putBefore time.Time) (int, error)
}

// sweeper removes from disk and store what nothing needs any more.
type sweeper struct {
	config       *Config
	store        sweepStore
	tarballs     *tarballs
	repositories *repositories
}

// run evicts tarballs and drops sources that no service follows.
func (s *sweeper) run(ctx context.Context) error {
	for {
		pinned, err := s.store.Pinned(ctx, s.tarballs.node.Digests())
		if err == nil {
			s.tarballs.node.SetPinned(pinned)
			s.tarballs.node.Evict(s.cacheBytes())
			s.tarballs.variants.stored.Evict(variantBytes)
			_, err = s.store.DropSources(ctx, time.Now().Add(-dropAfter))
		}
		if err == nil {
			err = errors.Join(s.removeMirrors(ctx), s.removeArtifacts(ctx), s.dropInternal(ctx))
		}
		if err != nil && ctx.Err() == nil {
			s.config.Log.Warn("the cache cannot be swept", logkey.Error, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sweepEvery):
		}
	}
}

func (s *sweeper) cacheBytes() int64 {
	if s.config.CacheBytes > 0 {
		return s.config.CacheBytes
	}
	return 10 << 30
}

// removeMirrors deletes the mirrors of repositories that were deleted, or whose
// URL changed.
func (s *sweeper) removeMirrors(ctx context.Context) error {
	repos, err := s.store.Repositories(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, r := range repos {
		known[filepath.Base(mirrorDir(s.config.Dir, r.Copy()))] = true
	}
	found, err := os.ReadDir(filepath.Join(s.config.Dir, "mirrors"))
	if os.IsNotExist(err) {
		return nil
	}
	for _, d := range found {
		name, _, _ := strings.Cut(d.Name(), ".git.") // a mirror that is kept beside its successor
		if !known[d.Name()] && !known[name+".git"] {
			s.config.Log.Info("mirror of a deleted or moved repository removed", logkey.Path, d.Name())
			if err := os.RemoveAll(filepath.Join(s.config.Dir, "mirrors", d.Name())); err != nil {
				return err
			}
		}
	}
	return err
}

// removeArtifacts deletes the kept files of deleted repositories.
func (s *sweeper) removeArtifacts(ctx context.Context) error {
	entries, err := os.ReadDir(filepath.Join(s.config.Dir, "artifacts"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	repos, err := s.store.Repositories(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, r := range repos {
		known[hashName(r.Copy())] = true
	}
	for _, e := range entries {
		if !known[e.Name()] {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.config.Dir, "artifacts", e.Name())))
		}
	}
	return err
}

// internalKept is how long a repository that is followed for others is kept
// when it is no longer needed.
const internalKept = 24 * time.Hour

// dropInternal deletes the internal repositories that are no longer needed.
func (s *sweeper) dropInternal(ctx context.Context) error {
	repos, err := s.store.Repositories(ctx)
	if err != nil {
		return err
	}
	for _, r := range repos {
		if !r.Options.Internal || time.Since(r.UpdatedAt) < internalKept {
			continue
		}
		pins, err := s.store.Pins(ctx, r.ID)
		if err != nil {
			return err
		}
		sources, err := s.store.Sources(ctx, r.ID)
		if err != nil {
			return err
		}
		if len(pins)+len(sources) > 0 {
			continue
		}
		if err := s.repositories.DeleteRepository(ctx, r.ID); err != nil && !errcode.Is(err, errcode.Conflict) {
			return err
		}
	}
	return nil
}
