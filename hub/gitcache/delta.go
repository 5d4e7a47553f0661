package gitcache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/axle-cd/axle/hub/gitcache/nodecache"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/tarball"
)

// DeltaContentType is the content type of a delta; docs/spec/tarball.md defines
// the format.
const DeltaContentType = "application/vnd.axle.delta"

// GzipContentType is the content type of a tarball for clients that cannot read
// zstd.
const GzipContentType = "application/gzip"

const (
	// deltaFrom is the size of a tarball below which a delta would save less
	// than it costs to make and to store.
	deltaFrom = 2 << 10
	// deltaPatience is how long a caller waits for a delta; it then takes the
	// whole tarball, and the next caller finds the delta.
	deltaPatience = 10 * time.Second
	// deltasAtOnce limits how many of a project are made at the same time: each holds the
	// changed files in memory.
	deltasAtOnce = 2
	// maxRefusals limits how many pairs without a delta are remembered.
	maxRefusals = 4096
	// variantBytes is the disk space for deltas and gzip forms, which are made
	// again when they are missing.
	variantBytes = 2 << 30
)

// ErrNoDelta is returned when the whole tarball is the better answer.
var ErrNoDelta = tarball.ErrNoDelta

// variants are derived from stored tarballs: deltas between two, and gzip forms
// of one. They have their own disk space, so that they evict no tarball.
type variants struct {
	stored *nodecache.Cache
	making *pool.Places

	mu      sync.Mutex
	refused map[digest.Digest]bool // pairs without a delta
}

func newVariants(dir string, pools *pool.Set) (*variants, error) {
	stored, err := nodecache.New(nodecache.Config{Dir: dir, MaxBytes: variantBytes})
	if err != nil {
		return nil, err
	}
	return &variants{stored: stored, making: sharedWork(pools, "variants", "deltas and gzip forms that are made", deltasAtOnce), refused: map[digest.Digest]bool{}}, nil
}

// key names a variant like content, because node caches store content by
// digest.
func (v *variants) key(kind string, of ...digest.Digest) digest.Digest {
	h := sha256.New()
	io.WriteString(h, kind)
	for _, d := range of {
		io.WriteString(h, "\n"+string(d))
	}
	return digest.Digest(digest.Prefix + hex.EncodeToString(h.Sum(nil)))
}

func (v *variants) isRefused(key digest.Digest) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.refused[key]
}

func (v *variants) refuse(key digest.Digest) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.refused) >= maxRefusals {
		clear(v.refused)
	}
	v.refused[key] = true
}

// get opens a variant, and makes it first when it is not here.
func (v *variants) get(ctx context.Context, key digest.Digest, build func(ctx context.Context, w io.Writer) error) (*nodecache.File, error) {
	return v.stored.Get(ctx, key, func(ctx context.Context, w io.Writer) (digest.Digest, error) {
		held, err := v.making.Wait(ctx, pool.Of(ctx))
		if err != nil {
			return "", err
		}
		defer held.Leave()
		return key, build(ctx, w)
	})
}

// Delta returns the delta from one content to another, made from the stored
// tarballs of both. It returns ErrNoDelta when the whole tarball is better: too
// little would be saved, too much changed, or one of the two is not available
// now. The caller checks that the client may read both.
func (c *tarballs) Delta(ctx context.Context, from, to digest.Digest) (*Tarball, error) {
	key := c.variants.key("delta 1", from, to)
	if from == to || c.variants.isRefused(key) {
		return nil, ErrNoDelta
	}
	patient, cancel := context.WithTimeout(ctx, deltaPatience)
	defer cancel()
	how := "stored"
	f, err := c.variants.get(patient, key, func(ctx context.Context, w io.Writer) error {
		how = "made"
		return c.makeDelta(ctx, w, tarball.Delta{From: from, To: to})
	})
	if errors.Is(err, ErrNoDelta) {
		c.variants.refuse(key)
	}
	if err != nil {
		c.metrics.deltas.WithLabelValues("none").Inc()
		return nil, errors.Join(ErrNoDelta, err)
	}
	c.metrics.deltas.WithLabelValues(how).Inc()
	if whole, ok := c.node.Size(to); ok && whole > f.Size {
		c.metrics.saved.Add(float64(whole - f.Size))
	}
	t := newTarball(to, f, fromDisk)
	t.ETag, t.ContentType = `"`+f.Hash[:32]+`-delta"`, DeltaContentType
	return t, nil
}

func (c *tarballs) makeDelta(ctx context.Context, w io.Writer, d tarball.Delta) error {
	to, err := c.Fetch(ctx, d.To)
	if err != nil {
		return err
	}
	defer to.Close()
	if to.Size < deltaFrom {
		return ErrNoDelta
	}
	from, err := c.Fetch(ctx, d.From)
	if err != nil {
		return err
	}
	defer from.Close()
	short := &shortWriter{w: w, left: to.Size / 2}
	return tarball.WriteDelta(ctx, short, stored(from), stored(to), d)
}

// stored returns a reader for a tarball's stored bytes that supports random
// access where possible.
func stored(t *Tarball) io.Reader {
	if at, ok := t.ReadSeekCloser.(io.ReaderAt); ok {
		return tarball.Stored{Reader: t, ReaderAt: at, Size: t.Size}
	}
	return t
}

// shortWriter aborts when a delta reaches half of the whole.
type shortWriter struct {
	w    io.Writer
	left int64
}

// Write writes while there is room.
func (s *shortWriter) Write(p []byte) (int, error) {
	if s.left -= int64(len(p)); s.left < 0 {
		return 0, ErrNoDelta
	}
	return s.w.Write(p)
}

// Gzip returns a tarball compressed with gzip instead of zstd. Errors are those
// of Fetch.
func (c *tarballs) Gzip(ctx context.Context, d digest.Digest) (*Tarball, error) {
	f, err := c.variants.get(ctx, c.variants.key("gzip 1", d), func(ctx context.Context, w io.Writer) error {
		return c.makeGzip(ctx, w, d)
	})
	if err != nil {
		return nil, c.unserved(ctx, d, err)
	}
	t := newTarball(d, f, fromDisk)
	t.ETag, t.ContentType = `"`+f.Hash[:32]+`-gzip"`, GzipContentType
	return t, nil
}

func (c *tarballs) makeGzip(ctx context.Context, w io.Writer, d digest.Digest) error {
	t, err := c.Fetch(ctx, d)
	if err != nil {
		return err
	}
	defer t.Close()
	zr, err := zstd.NewReader(t, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer zr.Close()
	zw := gzip.NewWriter(w)
	if _, err := io.Copy(zw, zr); err != nil {
		return err
	}
	return zw.Close()
}
