package mirror

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
)

// Size returns the bytes of the mirror's objects.
func (m *Mirror) Size() int64 {
	var n int64
	_ = filepath.WalkDir(filepath.Join(m.Dir(), "objects"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// besides is the folder of a mirror where package repack works.
const besides = "repack"

// maxPacks is how many packs a mirror may have before they are joined.
const maxPacks = 20

// Tidy joins packs when there are many, and removes what killed commands left.
// Only the lease holder may call it, and not during a fetch. Readers wait only
// while files are deleted. Package repack repacks everything.
func (m *Mirror) Tidy(ctx context.Context) error {
	if err := clean(m.Dir(), time.Hour); err != nil {
		return err
	}
	packs, err := Packs(m.Dir())
	if err != nil || len(packs) <= maxPacks {
		return err
	}
	return m.joinPacks(ctx)
}

// joinPacks joins packs into a few, each at least twice as large as the next.
// It writes the new pack first; then the index over all packs prefers it, and
// packs from which the index uses nothing are deleted.
func (m *Mirror) joinPacks(ctx context.Context) error {
	before, err := packTimes(m.Dir())
	if err != nil {
		return err
	}
	if _, err := m.local(ctx, "", "repack", "-q", "--geometric=2"); err != nil {
		return err
	}
	after, err := packTimes(m.Dir())
	if err != nil {
		return err
	}
	args := []string{"multi-pack-index", "write", "--no-progress"}
	for p, written := range after {
		// A pack is named by its bytes, so the new one may have replaced an
		// existing one. Without a preferred pack, the index could take an
		// object from any of the packs that were written in the same second as
		// the newest.
		if was, there := before[p]; !there || !was.Equal(written) {
			args = append(args, "--preferred-pack="+strings.TrimSuffix(p, ".pack")+".idx")
			break
		}
	}
	if _, err := m.local(ctx, "", args...); err != nil {
		return err
	}
	return m.Exclusive(func() error {
		_, err := m.local(ctx, "", "multi-pack-index", "expire", "--no-progress")
		return err
	})
}

// Packs returns the file names of the packs in a repository.
func Packs(dir string) ([]string, error) {
	found, err := filepath.Glob(filepath.Join(dir, "objects/pack/pack-*.pack"))
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	return found, err
}

// Exclusive runs do, which deletes packs, while no other call reads objects.
func (m *Mirror) Exclusive(do func() error) error {
	m.packs.Lock()
	defer m.packs.Unlock()
	m.objs.closeIdle(0)
	return do()
}

// packTimes returns when each pack of a repository was written.
func packTimes(dir string) (map[string]time.Time, error) {
	names, err := Packs(dir)
	if err != nil {
		return nil, err
	}
	times := make(map[string]time.Time, len(names))
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, "objects/pack", name))
		if err != nil {
			return nil, err
		}
		times[name] = info.ModTime()
	}
	return times, nil
}

// clean removes temporary files and stale locks older than age. With age zero
// it is called before anything runs on the mirror.
func clean(dir string, age time.Duration) error {
	patterns := []string{"objects/pack/tmp_*", "objects/pack/.tmp-*", "objects/tmp_*", "objects/tmp_objdir-*", "objects/incoming-*", "shallow.lock"}
	if age == 0 {
		patterns = append(patterns, "packed-refs.lock", "packed-refs.new", "HEAD.lock", "config.lock", besides, "objects/pack/multi-pack-index.lock", "objects/info/*.lock")
	}
	var errs []error
	for _, p := range patterns {
		found, _ := filepath.Glob(filepath.Join(dir, p))
		for _, f := range found {
			if info, err := os.Lstat(f); err == nil && time.Since(info.ModTime()) >= age {
				errs = append(errs, os.RemoveAll(f))
			}
		}
	}
	if age == 0 {
		errs = append(errs, filepath.WalkDir(filepath.Join(dir, "refs"), func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(p, ".lock") {
				return os.Remove(p)
			}
			return nil
		}))
	}
	return errors.Join(errs...)
}

// unfinished are the packs of running and killed fetches.
var unfinished = []string{"objects/pack/tmp_pack_*", "objects/tmp_objdir-*/pack/tmp_pack_*", "objects/incoming-*/pack/tmp_pack_*"}

// FetchFailed removes what a failed fetch left, because the next one needs the
// space. An error of git that looks like damage makes the mirror suspect.
func (m *Mirror) FetchFailed(err error) {
	if git := (*gitexec.Error)(nil); errors.As(err, &git) {
		m.noteDamage(git)
	}
	for _, p := range unfinished {
		found, _ := filepath.Glob(filepath.Join(m.Dir(), p))
		for _, f := range found {
			_ = os.Remove(f) // otherwise Tidy does it
		}
	}
}

// PackSpace returns how many bytes the running fetches have written. Git's own
// limit on pack sizes does not limit a fetch.
func (m *Mirror) PackSpace() int64 {
	var n int64
	for _, p := range unfinished {
		found, _ := filepath.Glob(filepath.Join(m.Dir(), p))
		for _, f := range found {
			if info, err := os.Lstat(f); err == nil {
				n += info.Size()
			}
		}
	}
	return n
}
