package scale

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tarball"
)

// Content is what a tarball holds, as far as a simulated cluster looks.
type Content struct {
	Digest digest.Digest
	Stats  tarball.Stats
	// Objects are those of plain YAML files in the entry folder, and Problem
	// is what is wrong with one of them, with file and line.
	Objects []manifest.Object
	Problem error

	// packed are the components of Objects, of contents that were read in
	// memory.
	packed []byte
	counts *agentv1.ComponentCounts
}

// contents downloads, verifies and reads tarballs.
type contents struct {
	dir      string
	share    bool
	inMemory bool
	count    *counters

	mu    sync.Mutex
	known map[string]*content
}

// content is a download that many may wait for.
type content struct {
	once sync.Once
	*Content
	err error
}

func newContents(cfg Config, count *counters) *contents {
	return &contents{dir: cfg.Dir, share: cfg.ShareTarballs, inMemory: cfg.InMemory, count: count, known: map[string]*content{}}
}

// get returns a content, from memory when the fleet shares.
func (c *contents) get(ctx context.Context, client *hubclient.Client, name, entry string) (*Content, error) {
	if c.inMemory {
		return c.verify(ctx, client, name)
	}
	if !c.share {
		return c.download(ctx, client, name, entry)
	}
	key := name + " " + entry
	c.mu.Lock()
	one := c.known[key]
	if one == nil {
		one = &content{}
		c.known[key] = one
	}
	c.mu.Unlock()
	one.once.Do(func() { one.Content, one.err = c.download(ctx, client, name, entry) })
	if one.err != nil {
		c.mu.Lock()
		if c.known[key] == one {
			delete(c.known, key)
		}
		c.mu.Unlock()
	}
	return one.Content, one.err
}

// download unpacks a tarball, compares its digest and forgets the files.
func (c *contents) download(ctx context.Context, client *hubclient.Client, name, entry string) (_ *Content, err error) {
	want, err := digest.Parse(name)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(c.dir, "axle-scale-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	body, err := client.Download(ctx, tarball.Request{Digest: want})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	counted := &countingReader{Reader: body}
	root := filepath.Join(dir, "tree")
	got, stats, err := tarball.Unpack(ctx, counted, root, tarball.Limits{})
	if err != nil {
		return nil, err
	}
	if err := digest.Verify(want, got); err != nil {
		return nil, err
	}
	c.count.tarballs.Add(1)
	c.count.tarballBytes.Add(counted.n)
	objects, problem := read(filepath.Join(root, filepath.FromSlash(entry)))
	return &Content{Digest: got, Stats: stats, Objects: objects, Problem: problem}, nil
}

type countingReader struct {
	io.Reader
	n int64
}

// Read implements io.Reader.
func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += int64(n)
	return n, err
}

// read decodes the plain YAML files of a folder.
func read(root string) (objects []manifest.Object, err error) {
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil || !plain(filepath.ToSlash(name)) {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		found, _, err := manifest.Decode(filepath.ToSlash(name), text)
		objects = append(objects, found...)
		return err
	})
	return objects, err
}

// plain leaves out what a maker would read first.
func plain(name string) bool {
	if path.Ext(name) != ".yaml" && path.Ext(name) != ".yml" {
		return false
	}
	switch path.Base(name) {
	case "kustomization.yaml", "Chart.yaml", "values.yaml":
		return false
	}
	return !strings.Contains("/"+name, "/templates/")
}
