// Package repack repacks a whole mirror while it is in use: into one pack of
// objects that refs reach and one of the others; all older packs are deleted.
// For a large mirror this takes many minutes, during which fetches and reads
// continue. The agent of a repository (hub/gitcache/gitagent) calls it about
// once a week, and before it declares a mirror full.
//
//	Begin: refs and packs of now, by hard links, in a folder of the mirror
//	  -> a goroutine packs there; fetches continue
//	Tidy, between two fetches: a pack of what was fetched since for the new
//	  refs, the new packs into the mirror, the old ones away
//
// It decides neither when to repack nor which commits to keep. Invariants: when
// the old packs are deleted, every object that a ref reaches is in a new pack
// too; a kill leaves behind at most a folder that the next open removes, or
// duplicate packs; one Repacker at a time, the lease holder's, repacks a
// mirror.
package repack

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/mirror"
	"github.com/axle-cd/axle/internal/gitobject"
)

const (
	// folder is its working folder in a mirror; upstream removes it when a
	// mirror is opened.
	folder = "repack"
	// cruftFor is how long unreachable objects are kept.
	cruftFor = "2.weeks.ago"
)

// endings are the suffixes of a pack's files in the order in which they are
// created. Git treats a pack without its index as unfinished, so the index is
// created last and removed first.
var (
	endings = []string{".rev", ".bitmap", ".mtimes", ".pack", ".idx"}
	going   = []string{".idx", ".pack", ".mtimes", ".bitmap", ".rev"}
)

// Repacker repacks one mirror. The zero value is ready; one goroutine uses it.
type Repacker struct{ run *run }

// run is one repack.
type run struct {
	mirror *mirror.Mirror
	dir    string
	// tips are what refs pointed at when it began, old the packs of that time.
	tips, old []string
	cancel    context.CancelFunc
	done      chan struct{}
	packs     []string
	err       error
}

// Begin starts a repack, unless one is running. Do not call it during a fetch;
// a fetch may start afterwards. The repack ends with the context; Close waits
// for it.
func (r *Repacker) Begin(ctx context.Context, m *mirror.Mirror) error {
	if r.run != nil {
		return nil
	}
	one, err := begin(ctx, m)
	if err != nil {
		return err
	}
	r.run = one
	ctx, one.cancel = context.WithCancel(ctx)
	go func() {
		defer close(one.done)
		one.packs, one.err = one.pack(ctx)
	}()
	return nil
}

// Tidy installs the packs of a finished repack; during a repack it does
// nothing, and without one it is Mirror.Tidy. It is called between fetches.
func (r *Repacker) Tidy(ctx context.Context, m *mirror.Mirror) error {
	if r.run == nil {
		return m.Tidy(ctx)
	}
	if r.run.mirror == m {
		select {
		case <-r.run.done:
		default:
			return nil
		}
	}
	one := r.run
	r.Close()
	if one.mirror != m {
		return nil // the mirror was created again
	}
	return one.takeOver(ctx)
}

// Whole repacks at once and waits.
func (r *Repacker) Whole(ctx context.Context, m *mirror.Mirror) error {
	r.Close()
	return Now(ctx, m)
}

// Close ends a running repack and waits for it.
func (r *Repacker) Close() {
	if r.run != nil {
		r.run.cancel()
		<-r.run.done
		r.run = nil
	}
}

// Now repacks a mirror that is not being fetched into.
func Now(ctx context.Context, m *mirror.Mirror) error {
	one, err := begin(ctx, m)
	if err != nil {
		return err
	}
	if one.packs, one.err = one.pack(ctx); one.err != nil {
		return errors.Join(one.err, os.RemoveAll(one.dir))
	}
	return one.takeOver(ctx)
}

// begin creates the folder: a repository with the current refs and packs.
func begin(ctx context.Context, m *mirror.Mirror) (*run, error) {
	one := &run{mirror: m, dir: filepath.Join(m.Dir(), folder), done: make(chan struct{})}
	if err := errors.Join(m.PackRefs(ctx), os.RemoveAll(one.dir)); err != nil {
		return nil, err
	}
	refs, err := m.GitIn(ctx, m.Dir(), "", "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return nil, err
	}
	one.tips = tips(refs)
	if one.old, err = mirror.Packs(m.Dir()); err != nil {
		return nil, err
	}
	return one, one.snapshot(refs)
}

func (one *run) snapshot(refs string) error {
	from := one.mirror.Dir()
	for _, d := range []string{"refs", "objects/info", "objects/pack"} {
		if err := os.MkdirAll(filepath.Join(one.dir, d), 0o755); err != nil {
			return err
		}
	}
	for _, f := range []string{"config", "HEAD"} {
		text, err := os.ReadFile(filepath.Join(from, f))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(one.dir, f), text, 0o644); err != nil {
			return err
		}
	}
	for _, p := range one.old {
		if err := eachFile(p, endings, func(f string) error { return os.Link(filepath.Join(from, f), filepath.Join(one.dir, f)) }); err != nil {
			return err
		}
	}
	// Loose objects are the mirror's.
	return errors.Join(os.WriteFile(filepath.Join(one.dir, "packed-refs"), []byte(refs), 0o644),
		os.WriteFile(filepath.Join(one.dir, "objects/info/alternates"), []byte("../../objects\n"), 0o644))
}

// pack writes the two new packs, and returns their names.
func (one *run) pack(ctx context.Context) ([]string, error) {
	m := one.mirror
	main, err := m.GitIn(ctx, one.dir, "", "pack-objects", "-q", "--all", "--non-empty", "--delta-base-offset", "objects/pack/pack")
	if err != nil {
		return nil, err
	}
	keep := packNames(main)
	var in strings.Builder
	for _, p := range keep {
		in.WriteString(p + "\n")
	}
	for _, p := range one.old {
		if !slices.Contains(keep, p) {
			in.WriteString("-" + p + "\n")
		}
	}
	cruft, err := m.GitIn(ctx, one.dir, in.String(), "pack-objects", "-q", "--cruft", "--cruft-expiration="+cruftFor, "--non-empty", "--delta-base-offset", "objects/pack/pack")
	return append(keep, packNames(cruft)...), err
}

// takeOver replaces the mirror's packs with the new ones and a pack of what its
// refs reach since.
func (one *run) takeOver(ctx context.Context) error {
	m := one.mirror
	if one.err != nil {
		return errors.Join(one.err, os.RemoveAll(one.dir))
	}
	refs, err := m.GitIn(ctx, m.Dir(), "", "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return err
	}
	var since strings.Builder
	fresh := false
	for _, tip := range tips(refs) {
		if _, had := slices.BinarySearch(one.tips, tip); !had {
			fresh = true
			since.WriteString(tip + "\n")
		}
	}
	for _, tip := range one.tips {
		since.WriteString("^" + tip + "\n")
	}
	keep := one.packs
	if fresh {
		// An object may be only in the old packs, because no ref reached it
		// before.
		more, err := m.GitIn(ctx, m.Dir(), since.String(), "pack-objects", "-q", "--revs", "--non-empty", "--delta-base-offset", "objects/pack/pack")
		if err != nil {
			return err
		}
		keep = append(slices.Clone(keep), packNames(more)...)
	}
	return errors.Join(m.Exclusive(func() error { return one.swap(ctx, keep) }), os.RemoveAll(one.dir))
}

func (one *run) swap(ctx context.Context, keep []string) error {
	to := one.mirror.Dir()
	for _, p := range one.packs {
		err := eachFile(p, endings, func(f string) error {
			err := os.Link(filepath.Join(one.dir, f), filepath.Join(to, f))
			if errors.Is(err, fs.ErrExist) {
				return nil // packs are named by their content
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	// The index over all packs names those that are removed, so it is removed
	// first.
	if err := os.Remove(filepath.Join(to, "objects/pack/multi-pack-index")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, p := range one.old {
		if slices.Contains(keep, p) {
			continue
		}
		errs = append(errs, eachFile(p, going, func(f string) error { return os.Remove(filepath.Join(to, f)) }))
	}
	_, err := one.mirror.GitIn(ctx, to, "", "multi-pack-index", "write", "--no-progress")
	return errors.Join(append(errs, err)...)
}

// eachFile calls do for each existing file of a pack.
func eachFile(pack string, order []string, do func(file string) error) error {
	for _, ending := range order {
		err := do(filepath.Join("objects/pack", strings.TrimSuffix(pack, ".pack")+ending))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// tips returns the objects that refs point at, sorted, without duplicates.
func tips(refs string) []string {
	var list []string
	for line := range strings.Lines(refs) {
		id, _, _ := strings.Cut(line, " ")
		list = append(list, id)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// packNames returns the file names of the packs whose hashes pack-objects
// printed.
func packNames(out string) []string {
	var names []string
	for hash := range strings.FieldsSeq(out) {
		if gitobject.IsID(hash) {
			names = append(names, "pack-"+hash+".pack")
		}
	}
	return names
}
