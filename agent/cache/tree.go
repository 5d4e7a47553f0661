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

// Tree is an unpacked tree that stays until Release.
type Tree struct {
	// Dir is only read.
	Dir     string
	release func()
}

// Release lets Keep remove the tree. It may be called twice.
func (t Tree) Release() {
	if t.release != nil {
		t.release()
	}
}

// Tree returns the tree of a digest, downloaded when it is not here. Of many
// callers of one digest one downloads. Exhausted is a full disk or a tree over
// the limits, Unavailable content that is not what its digest promised.
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

// settle checks a tree that was written before the machine started, once: it
// is whole, or it is as if it had never been here. The caller has locked d.
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
		c.cfg.Log.Warn("a tree was damaged while the machine was off, it is downloaded again", logkey.Digest, d.Short())
		return nil
	}
	return c.writeRecord(d, r)
}

// here reports whether the tree is there. A folder that somebody removed is
// downloaded again.
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

// download brings the content beside its place and renames.
func (c *Cache) download(ctx context.Context, service string, d digest.Digest, fetch Fetch) error {
	fresh, r, err := c.bring(ctx, service, d, fetch)
	if err != nil {
		return err
	}
	if err := c.place(d, fresh, r); err != nil {
		return errors.Join(diskError("store a tree", err), os.RemoveAll(fresh))
	}
	c.cfg.Log.Info("a tree was downloaded", logkey.Digest, d.Short(), logkey.Bytes, r.TarballBytes)
	return nil
}

// unpackError tells a broken transfer, broken content and a broken disk apart.
func (c *Cache) unpackError(d digest.Digest, transfer, err error) error {
	var limit *tarball.LimitError
	var path *digest.PathError
	switch {
	case transfer != nil:
		return &transferError{fmt.Errorf("download %s: %w", d.Short(), transfer)}
	case errors.As(err, &limit), errors.As(err, &path):
		return errcode.New(errcode.Exhausted, "the content %s is refused: %w", d.Short(), err)
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
	return errcode.New(errcode.Unavailable, "the download of %s is damaged, it is thrown away and asked for again: %w", d.Short(), err)
}

// place puts an unpacked folder where trees lie. Until the record is written
// the tree does not count, so a kill between the two costs a download.
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

// writeRecord makes a tree count, as one that is whole now.
func (c *Cache) writeRecord(d digest.Digest, r record) error {
	r.Boot = c.cfg.Boot
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return atomicfile.WriteUnsynced(c.recordPath(d), text, 0o600)
}

// counter counts what was read and keeps the error of the transfer apart from
// those of unpacking.
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
