package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/tarball"
)

// Tree is an unpacked tree that is kept until Release.
type Tree struct {
	// Dir is read-only.
	Dir     string
	release func()
}

// Release allows Keep to remove the tree. It may be called twice.
func (t Tree) Release() {
	if t.release != nil {
		t.release()
	}
}

// Tree returns the tree of a digest, and downloads it if needed. If many callers want
// one digest, one of them downloads. Exhausted: the disk is full or the tree exceeds
// the limits. Unavailable: the content does not match its digest.
func (c *Cache) Tree(ctx context.Context, service string, d digest.Digest, fetch Fetch) (Tree, error) {
	if _, err := digest.Parse(d.String()); err != nil {
		return Tree{}, errcode.New(errcode.Invalid, "service %s: %w", service, err)
	}
	unlock, err := c.lock(ctx, d)
	if err != nil {
		return Tree{}, err
	}
	defer unlock()
	if err := c.settle(ctx, d); err != nil {
		return Tree{}, err
	}
	if !c.here(d) {
		if err := c.download(ctx, service, d, fetch); err != nil {
			return Tree{}, err
		}
	}
	c.firstSeen(service, d)
	return c.use(d), nil
}

// settle checks, once, a tree that was written before the machine booted. If it is
// incomplete, it counts as missing. The caller has locked d.
func (c *Cache) settle(ctx context.Context, d digest.Digest) error {
	c.mu.Lock()
	r, doubted := c.records[d], c.doubted[d]
	c.mu.Unlock()
	if !doubted {
		return nil
	}
	good, err := c.check(ctx, d)
	if err != nil {
		return err
	}
	c.mu.Lock()
	delete(c.doubted, d)
	if !good {
		delete(c.records, d)
	}
	c.mu.Unlock()
	if !good {
		c.cfg.Log.Warn("a tree was damaged while the machine was off; it is downloaded again", logkey.Digest, d.Short())
		return nil
	}
	return c.writeRecord(d, r)
}

// here reports whether the tree exists. A folder that somebody removed is downloaded
// again.
func (c *Cache) here(d digest.Digest) bool {
	c.mu.Lock()
	_, ok := c.records[d]
	c.mu.Unlock()
	if !ok {
		return false
	}
	if info, err := os.Stat(c.treePath(d)); err == nil && info.IsDir() {
		return true
	}
	c.forget(d)
	return false
}

func (c *Cache) forget(d digest.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.records, d)
}

func (c *Cache) use(d digest.Digest) Tree {
	c.mu.Lock()
	c.using[d]++
	c.mu.Unlock()
	var once sync.Once
	return Tree{Dir: c.treePath(d), release: func() {
		once.Do(func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.using[d]--; c.using[d] == 0 {
				delete(c.using, d)
			}
		})
	}}
}

// lock makes callers of one digest take turns.
func (c *Cache) lock(ctx context.Context, d digest.Digest) (unlock func(), err error) {
	for {
		c.mu.Lock()
		other, busy := c.busy[d]
		if !busy {
			mine := make(chan struct{})
			c.busy[d] = mine
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.busy, d)
				c.mu.Unlock()
				close(mine)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// download writes the content to a temporary folder and renames it.
func (c *Cache) download(ctx context.Context, service string, d digest.Digest, fetch Fetch) error {
	fresh, r, err := c.bring(ctx, service, d, fetch)
	if err != nil {
		return err
	}
	if err := c.place(d, fresh, r); err != nil {
		return errors.Join(diskError("store a tree", err), os.RemoveAll(fresh))
	}
	c.cfg.Log.Info("downloaded a tree", logkey.Digest, d.Short(), logkey.Bytes, r.TarballBytes)
	return nil
}

// unpackError distinguishes a failed transfer, damaged content and a failed disk.
func (c *Cache) unpackError(d digest.Digest, transfer, err error) error {
	var limit *tarball.LimitError
	var path *digest.PathError
	switch {
	case transfer != nil:
		return &transferError{fmt.Errorf("download %s: %w", d.Short(), transfer)}
	case errors.As(err, &limit), errors.As(err, &path):
		return errcode.New(errcode.Exhausted, "the content %s is rejected: %w", d.Short(), err)
	}
	if disk := diskError("unpack "+d.Short(), err); errcode.Is(disk, errcode.Exhausted) {
		return disk
	}
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		return diskError("unpack "+d.Short(), err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &transferError{err}
	}
	return errcode.New(errcode.Unavailable, "the download of %s is damaged; it is discarded and requested again: %w", d.Short(), err)
}

// place moves an unpacked folder to its final place. Without its record the tree does
// not count, so a kill between the two costs only a download.
func (c *Cache) place(d digest.Digest, fresh string, r record) error {
	if err := os.RemoveAll(c.treePath(d)); err != nil {
		return err
	}
	if err := os.Rename(fresh, c.treePath(d)); err != nil {
		return err
	}
	if err := c.writeRecord(d, r); err != nil {
		return err
	}
	r.Boot = c.cfg.Boot
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records[d] = r
	return nil
}

// writeRecord marks a tree as complete.
func (c *Cache) writeRecord(d digest.Digest, r record) error {
	r.Boot = c.cfg.Boot
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return atomicfile.WriteUnsynced(c.recordPath(d), text, 0o600)
}

// counter counts the bytes read and keeps the transfer's error apart from errors of
// unpacking.
type counter struct {
	r   io.Reader
	n   int64
	err error
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}
