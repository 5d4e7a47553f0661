package cache

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/tarball"
)

const (
	partialDir = "partial"
	// partialFrom is the size from which an interrupted download is kept: below it, a
	// new download costs less than a file.
	partialFrom = 1 << 20
	// partialAge is how long it is kept; the hub's stored bytes do not last for ever
	// either.
	partialAge = 24 * time.Hour
)

// partial is the rest of an interrupted download, to which the next attempt appends.
// Its bytes are not verified, only the digest of the whole. A nil partial keeps
// nothing.
type partial struct {
	path string
	etag string
	size int64 // when it was opened
	file *os.File
}

// kept is stored beside a partial file.
type kept struct {
	ETag string `json:"etag"`
}

func (c *Cache) partialPath(d digest.Digest) string {
	return filepath.Join(c.cfg.Dir, partialDir, d.Hex())
}

// openPartial returns the rest of an earlier download of d, nil if there is none.
func (c *Cache) openPartial(d digest.Digest) *partial {
	path := c.partialPath(d)
	text, err := os.ReadFile(path + recordSuffix)
	var k kept
	if err != nil || json.Unmarshal(text, &k) != nil || k.ETag == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		f.Close() //nolint:errcheck // nothing was written
		return nil
	}
	return &partial{path: path, etag: k.ETag, size: info.Size(), file: f}
}

// newPartial starts to keep a download that is large enough. If the disk is full, the
// download continues without it.
func (c *Cache) newPartial(d digest.Digest, body *tarball.Download) *partial {
	if body.Offset > 0 || body.ETag == "" || body.Size < partialFrom {
		return nil
	}
	p := &partial{path: c.partialPath(d), etag: body.ETag}
	text, err := json.Marshal(kept{body.ETag})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(p.path), 0o700)
	}
	if err == nil {
		p.file, err = os.OpenFile(p.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	}
	if err == nil {
		err = atomicfile.Write(p.path+recordSuffix, text, 0o600)
	}
	if err != nil {
		c.cfg.Log.Warn("cannot keep a partial copy of a download", logkey.Digest, d.Short(), logkey.Error, errors.Join(err, p.discard()))
		return nil
	}
	return p
}

// through returns the whole: the content of the file, then the rest as it arrives,
// which is appended to the file.
func (p *partial) through(rest io.Reader) io.Reader {
	if p == nil {
		return rest
	}
	return io.MultiReader(io.NewSectionReader(p.file, 0, p.size), io.TeeReader(rest, p))
}

// Write appends to the file. If it fails, the file is useless, but the download goes
// on.
func (p *partial) Write(b []byte) (int, error) {
	if p.etag != "" {
		if _, err := p.file.Write(b); err != nil {
			p.etag = ""
		}
	}
	return len(b), nil
}

// close leaves the file for the next attempt.
func (p *partial) close() error {
	if p == nil {
		return nil
	}
	if p.etag == "" {
		return p.discard()
	}
	return p.file.Close()
}

// discard removes the file.
func (p *partial) discard() error {
	if p == nil {
		return nil
	}
	var errs []error
	if p.file != nil {
		errs = append(errs, p.file.Close())
	}
	for _, path := range []string{p.path + recordSuffix, p.path} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sweepPartials removes partial downloads that nobody needs or that are old. A nil
// wanted means that all are needed.
func (c *Cache) sweepPartials(wanted map[digest.Digest]bool) error {
	dir := filepath.Join(c.cfg.Dir, partialDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		d := digest.Digest(digest.Prefix + strings.TrimSuffix(e.Name(), recordSuffix))
		info, err := e.Info()
		if err != nil {
			continue // removed meanwhile
		}
		if (wanted == nil || wanted[d]) && c.cfg.Clock.Now().Sub(info.ModTime()) < partialAge {
			continue
		}
		c.mu.Lock()
		busy := c.busy[d] != nil
		c.mu.Unlock()
		if !busy {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
