package nodecache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

// Put stores what build writes, under the digest of its content.
func (c *Cache) Put(ctx context.Context, build Build) (digest.Digest, int64, error) {
	e, err := c.attempt(ctx, build)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		// Make room once; pinned tarballs stay, so this may not help.
		c.Evict(0)
		e, err = c.attempt(ctx, build)
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		_, used := c.Usage()
		return "", 0, errcode.New(errcode.Exhausted, "no disk space for a new tarball beside %d bytes that may not be evicted; give the hub a larger volume: %w", used, err)
	}
	if err != nil {
		return "", 0, err
	}
	c.Evict(c.config.MaxBytes)
	return e.digest, e.size, nil
}

// store is Put for content whose digest is known.
func (c *Cache) store(ctx context.Context, want digest.Digest, build Build) error {
	got, _, err := c.Put(ctx, build)
	if err != nil {
		return err
	}
	return digest.Verify(want, got)
}

// attempt writes a temporary file and renames it when it is complete.
func (c *Cache) attempt(ctx context.Context, build Build) (*entry, error) {
	f, err := os.CreateTemp(c.tmp(), "tarball-")
	if err != nil {
		return nil, fmt.Errorf("store tarball: %w", err)
	}
	defer os.Remove(f.Name())
	w := &hashWriter{w: f, hash: sha256.New()}
	d, err := build(ctx, w)
	if err = errors.Join(err, w.err, f.Close()); err != nil {
		return nil, err
	}
	if _, err := digest.Parse(string(d)); err != nil {
		return nil, err
	}
	now := c.config.Clock.Now()
	e := &entry{digest: d, hash: hex.EncodeToString(w.hash.Sum(nil)), size: w.n, used: now, touched: now, stored: now, verified: true, looked: now}
	// There is no fsync: after a power cut the file may have other bytes, which
	// the first open detects by the hash.
	if err := os.MkdirAll(filepath.Dir(c.path(e)), 0o755); err != nil {
		return nil, fmt.Errorf("store tarball: %w", err)
	}
	if err := os.Chtimes(f.Name(), now, now); err != nil {
		return nil, fmt.Errorf("store tarball: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := os.Rename(f.Name(), c.path(e)); err != nil {
		return nil, fmt.Errorf("store tarball: %w", err)
	}
	c.insert(e)
	return e, nil
}

// Evict drops unpinned tarballs: those not used for long, then the least
// recently used until the rest fits into maxBytes.
func (c *Cache) Evict(maxBytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.config.Clock.Now()
	var loose int64
	for el := c.order.Front(); el != nil; {
		e, next := el.Value.(*entry), el.Next()
		switch {
		case c.pinned[e.digest]:
		case maxBytes > 0 && el.Prev() == nil && now.Sub(e.used) < c.config.MaxAge:
			loose += e.size // just built for a caller that waits for it
		case now.Sub(e.used) > c.config.MaxAge+jitter.Spread(string(e.digest), ageSpread), loose+e.size > maxBytes:
			c.drop(el)
		default:
			loose += e.size
		}
		el = next
	}
}

// Restarter is what a Build writes to: the Build may discard what it wrote and
// start again.
type Restarter interface {
	io.Writer
	Restart() error
}

// Restart implements Restarter.
func (h *hashWriter) Restart() error {
	if h.n == 0 {
		return nil
	}
	if _, err := h.w.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h.hash.Reset()
	h.n, h.err = 0, nil
	return h.w.Truncate(0)
}

// hashWriter hashes what is stored. It also remembers that the disk was full,
// because callers may wrap that error beyond recognition.
type hashWriter struct {
	w    *os.File
	hash hash.Hash
	n    int64
	err  error
}

// Write stores and hashes p.
func (h *hashWriter) Write(p []byte) (int, error) {
	n, err := h.w.Write(p)
	h.hash.Write(p[:n])
	h.n += int64(n)
	if err != nil {
		h.err = err
	}
	return n, err
}

var errDamaged = errors.New("stored tarball is damaged")

// verify reads a file once and compares it with its name.
func verify(f *File) error {
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err == nil && (n != f.Size || hex.EncodeToString(h.Sum(nil)) != f.Hash) {
		err = fmt.Errorf("%w: %s", errDamaged, filepath.Base(f.Name()))
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return nil
}
