package nodecache

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
)

// Config configures a Cache. Dir is required.
type Config struct {
	Dir      string
	MaxBytes int64         // of tarballs that are not pinned; default 10 GiB
	MaxAge   time.Duration // since the last use; default 24 h
	Clock    clock.Clock
}

// ageSpread is the most that a tarball may outlive MaxAge, so that tarballs
// that came together are not evicted together.
const ageSpread = 30 * time.Minute

// lookEvery limits how often readers that stop in the middle cause a full check
// of one tarball: a client that is cut off also stops in the middle.
const lookEvery = time.Minute

// touchEvery is how often the last use is written to disk.
const touchEvery = 10 * time.Minute

// Cache is a folder of tarballs. It is safe for concurrent use.
type Cache struct {
	config Config
	flight singleflight.Group

	mu      sync.Mutex
	entries map[digest.Digest]*list.Element // of *entry
	order   *list.List                      // most recently used first
	pinned  map[digest.Digest]bool
}

type entry struct {
	digest   digest.Digest
	hash     string // of the stored bytes, in hex
	size     int64
	used     time.Time
	touched  time.Time // last use as stored on disk
	stored   time.Time
	verified bool      // the bytes were verified, in this process
	looked   time.Time // when they were last verified
}

// File is an open tarball.
type File struct {
	*os.File
	Size   int64
	Hash   string // SHA-256 of the stored bytes, in hex
	Stored time.Time

	sum     hash.Hash // of what was read, while it was read from the start and in order
	summed  int64
	damaged func() // drops the entry
	doubted func() // makes a later open verify all bytes
}

// Read reads and verifies the bytes on the way. A file that was damaged since
// it was first read, by the disk or by hand, serves at most one bad copy, which
// its receiver refuses by the digest.
func (f *File) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if f.sum == nil {
		return n, err
	}
	f.sum.Write(p[:n])
	if f.summed += int64(n); f.summed >= f.Size || errors.Is(err, io.EOF) {
		if hex.EncodeToString(f.sum.Sum(nil)) != f.Hash {
			f.damaged()
		}
		f.sum = nil
	}
	return n, err
}

// Seek moves the offset. Only a file that is read whole is verified.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	at, err := f.File.Seek(offset, whence)
	f.sum, f.summed = nil, 0
	if err == nil && at == 0 && f.damaged != nil {
		f.sum = sha256.New()
	}
	return at, err
}

// WriteTo implements io.WriterTo with Read, because the file's own WriteTo
// would verify nothing.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{f})
}

// Close ends the use. A reader that stopped in the middle may have found bad
// bytes, so the next open verifies them, at most once a minute.
func (f *File) Close() error {
	if f.sum != nil && f.summed > 0 && f.summed < f.Size {
		f.doubted()
	}
	return f.File.Close()
}

// New opens the cache in a folder, creates the folder, and removes what killed
// writers left there.
func New(c Config) (*Cache, error) {
	if c.MaxBytes <= 0 {
		c.MaxBytes = 10 << 30
	}
	if c.MaxAge <= 0 {
		c.MaxAge = 24 * time.Hour
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	n := &Cache{config: c, entries: map[digest.Digest]*list.Element{}, order: list.New(), pinned: map[digest.Digest]bool{}}
	if err := os.RemoveAll(n.tmp()); err != nil {
		return nil, fmt.Errorf("clean the tarball cache: %w", err)
	}
	if err := os.MkdirAll(n.tmp(), 0o755); err != nil {
		return nil, fmt.Errorf("create the tarball cache: %w", err)
	}
	return n, n.scan()
}

func (c *Cache) tmp() string { return filepath.Join(c.config.Dir, "tmp") }

func (c *Cache) path(e *entry) string {
	h := e.digest.Hex()
	return filepath.Join(c.config.Dir, h[:2], h+"."+e.hash)
}

// scan builds the index from the file names.
func (c *Cache) scan() error {
	var found []*entry
	err := filepath.WalkDir(c.config.Dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, hash, _ := strings.Cut(d.Name(), ".")
		info, err := d.Info()
		if err != nil {
			return err
		}
		parsed, err := digest.Parse(digest.Prefix + name)
		if err != nil || len(hash) != 64 {
			return os.Remove(p)
		}
		found = append(found, &entry{digest: parsed, hash: hash, size: info.Size(), used: info.ModTime(), touched: info.ModTime(), stored: info.ModTime()})
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the tarball cache: %w", err)
	}
	slices.SortFunc(found, func(a, b *entry) int { return a.used.Compare(b.used) })
	for _, e := range found {
		c.insert(e)
	}
	return nil
}

// insert adds an entry as the most recently used one and drops an older one of
// the same digest.
func (c *Cache) insert(e *entry) {
	if old, ok := c.entries[e.digest]; ok {
		if o := old.Value.(*entry); o.hash != e.hash {
			_ = os.Remove(c.path(o))
		}
		c.order.Remove(old)
	}
	c.entries[e.digest] = c.order.PushFront(e)
}

// drop forgets an entry and deletes its file. Open files stay readable.
func (c *Cache) drop(el *list.Element) {
	e := el.Value.(*entry)
	delete(c.entries, e.digest)
	c.order.Remove(el)
	_ = os.Remove(c.path(e))
}

// Has reports whether a tarball is here, without opening it.
func (c *Cache) Has(d digest.Digest) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.entries[d]
	return ok
}

// Size returns the stored size of a tarball, if it is here.
func (c *Cache) Size(d digest.Digest) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.entries[d]; ok {
		return el.Value.(*entry).size, true
	}
	return 0, false
}

// Open opens a tarball. fs.ErrNotExist when it is not here, or was here but its
// bytes are damaged.
func (c *Cache) Open(d digest.Digest) (*File, error) {
	c.mu.Lock()
	el, ok := c.entries[d]
	if !ok {
		c.mu.Unlock()
		return nil, fs.ErrNotExist
	}
	e := el.Value.(*entry)
	c.order.MoveToFront(el)
	now := c.config.Clock.Now()
	e.used = now
	touch := now.Sub(e.touched) > touchEvery
	if touch {
		e.touched = now
	}
	path, verified, f := c.path(e), e.verified, &File{Size: e.size, Hash: e.hash, Stored: e.stored}
	c.mu.Unlock()

	var err error
	if f.File, err = os.Open(path); err == nil && !verified {
		err = verify(f)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errDamaged) {
		c.discard(d, e)
		return nil, errors.Join(fs.ErrNotExist, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open tarball: %w", err)
	}
	if touch {
		_ = os.Chtimes(path, now, now)
	}
	if !verified {
		c.mu.Lock()
		e.verified, e.looked = true, now
		c.mu.Unlock()
	}
	f.sum, f.damaged, f.doubted = sha256.New(), func() { c.discard(d, e) }, func() { c.doubt(e) }
	return f, nil
}

// doubt calls Doubt unless the bytes were verified within the last minute.
func (c *Cache) doubt(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.config.Clock.Now().Sub(e.looked) >= lookEvery {
		e.verified = false
	}
}

// Doubt makes the next open of a tarball verify all its bytes, even when they
// were verified before.
func (c *Cache) Doubt(d digest.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.entries[d]; ok {
		el.Value.(*entry).verified = false
	}
}

// discard drops an entry that is unusable.
func (c *Cache) discard(d digest.Digest, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.entries[d]; ok && el.Value.(*entry) == e {
		c.drop(el)
	}
}

// Build writes the bytes of one tarball and returns the digest of its content.
// The writer is a Restarter.
type Build = func(ctx context.Context, w io.Writer) (digest.Digest, error)

// Get opens a tarball, and builds it first when it is not here. All callers who
// want one digest wait for one build, which continues when some of them leave.
func (c *Cache) Get(ctx context.Context, d digest.Digest, build Build) (*File, error) {
	f, err := c.Open(d)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	done := c.flight.DoChan(string(d), func() (any, error) {
		if c.Has(d) {
			return nil, nil
		}
		// The first caller's deadline must not apply to the others.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), buildTimeout)
		defer cancel()
		return nil, c.store(ctx, d, build)
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-done:
		if r.Err != nil {
			return nil, r.Err
		}
	}
	return c.Open(d)
}

// buildTimeout limits one build, of content at its limits on a slow disk.
const buildTimeout = 30 * time.Minute

// Digests returns the digests of all tarballs.
func (c *Cache) Digests() []digest.Digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.entries))
}

// SetPinned replaces the set of pinned digests.
func (c *Cache) SetPinned(ds []digest.Digest) {
	pinned := make(map[digest.Digest]bool, len(ds))
	for _, d := range ds {
		pinned[d] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pinned = pinned
}

// Usage returns how many tarballs there are and how many bytes they use.
func (c *Cache) Usage() (files int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for el := c.order.Front(); el != nil; el = el.Next() {
		bytes += el.Value.(*entry).size
	}
	return c.order.Len(), bytes
}
