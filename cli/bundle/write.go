package bundle

import (
	"archive/tar"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// check reads every blob, and in a bundle looks for what belongs to no release.
func (i *inventory) check(ctx context.Context, from source, progress func(done, all int64)) error {
	var done int64
	for _, p := range i.parts {
		err := copyBlob(ctx, io.Discard, from, p.repository, p.Descriptor)
		if damaged := (damage{}); errors.As(err, &damaged) {
			i.problems = append(i.problems, p.label+": "+err.Error())
		} else if err != nil {
			return fmt.Errorf("%s: %w", p.label, err)
		}
		done += p.Size
		progress(done, i.bytes())
	}
	if l, ok := from.(*layout); ok && len(i.problems) == 0 {
		i.extra(l)
	}
	slices.Sort(i.problems)
	i.problems = slices.Compact(i.problems)
	return nil
}

// extra names what nobody signed.
func (i *inventory) extra(l *layout) {
	known := map[string]bool{ocispec.ImageIndexFile: true, ocispec.ImageLayoutFile: true}
	for _, p := range i.parts {
		known[blobPath(p.Descriptor)] = true
	}
	for _, e := range l.entries {
		if !known[e] {
			i.problems = append(i.problems, e+" belongs to nothing that is signed")
		}
	}
	names := map[string]bool{}
	for _, r := range i.roots {
		names[r.name()] = true
	}
	for _, m := range l.index.Manifests {
		if name := m.Annotations[ocispec.AnnotationRefName]; !names[name] {
			i.problems = append(i.problems, fmt.Sprintf("the name %q belongs to nothing that is signed", name))
		}
	}
}

func (i *inventory) bytes() int64 {
	var n int64
	for _, p := range i.parts {
		n += p.Size
	}
	return n
}

// err joins the problems.
func (i *inventory) err(what string) error {
	if len(i.problems) == 0 {
		return nil
	}
	return fmt.Errorf("do not use %s:\n  %s", what, strings.Join(i.problems, "\n  "))
}

func blobPath(d ocispec.Descriptor) string {
	return "blobs/" + d.Digest.Algorithm().String() + "/" + d.Digest.Encoded()
}

// write writes the bundle as a whole: the index first, then the blobs by digest, with
// no times or owners, so that equal releases make equal files.
func (i *inventory) write(ctx context.Context, file string, from source, progress func(done, all int64)) error {
	err := whole(file, func(f io.Writer) error {
		w := tar.NewWriter(f)
		index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
		for _, r := range i.roots {
			d := plain(r.Descriptor)
			d.Annotations = map[string]string{ocispec.AnnotationRefName: r.name()}
			index.Manifests = append(index.Manifests, d)
		}
		data, err := json.Marshal(index)
		if err != nil {
			return err
		}
		for _, small := range []struct {
			name string
			data []byte
		}{{ocispec.ImageLayoutFile, []byte(`{"imageLayoutVersion":"1.0.0"}`)}, {ocispec.ImageIndexFile, data}} {
			if err := header(w, small.name, int64(len(small.data))); err != nil {
				return err
			}
			if _, err := w.Write(small.data); err != nil {
				return err
			}
		}
		parts := slices.SortedFunc(slices.Values(i.parts), func(a, b part) int { return cmp.Compare(a.Digest, b.Digest) })
		var done int64
		for _, p := range parts {
			if err := header(w, blobPath(p.Descriptor), p.Size); err != nil {
				return err
			}
			if err := copyBlob(ctx, w, from, p.repository, p.Descriptor); err != nil {
				return fmt.Errorf("%s: %w", p.label, err)
			}
			done += p.Size
			progress(done, i.bytes())
		}
		return w.Close()
	})
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w; the bundle takes %s, nothing was kept", err, size(i.bytes()))
	}
	return err
}

// whole writes a file beside its name and renames it. The next run overwrites what a
// killed one left there.
func whole(file string, fill func(io.Writer) error) (err error) {
	part := file + ".unfinished"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another axle bundle create is writing %s: %w", part, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(part))
		}
	}()
	if err := f.Truncate(0); err != nil {
		return err
	}
	if err := fill(f); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Rename(part, file)
}

func header(w *tar.Writer, name string, size int64) error {
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size, Format: tar.FormatPAX})
}

// size is a number of bytes for people.
func size(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
