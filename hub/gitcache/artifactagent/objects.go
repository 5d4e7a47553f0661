package artifactagent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/gitcache/upstream/bucket"
	"github.com/axle-cd/axle/hub/gitcache/upstream/cloudauth"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

// objects is a bucket.
type objects struct {
	config     *Config
	repository record.Repository
	client     *wire.Client
	bucket     *bucket.Bucket
	found      map[string]listing // by folder
}

// listing is the content of a folder.
type listing struct {
	objects []bucket.Object // sorted by key
	sum     string          // of keys, tags and sizes
	err     error
}

// downloads is how many objects are read concurrently.
const downloads = 4

func newObjects(c *Config, r record.Repository, creds record.Credentials, client *wire.Client) (protocol, error) {
	auth, err := c.httpAuth(r, creds, client)
	if err != nil {
		return nil, err
	}
	endpoint := r.Options.Endpoint
	if endpoint == "" && strings.HasPrefix(r.URL, "s3:") {
		if endpoint, err = cloudauth.S3URL(r.Options.Region); err != nil {
			return nil, err
		}
	}
	b, err := bucket.New(bucket.Config{URL: r.URL, Endpoint: endpoint, Client: client, Auth: auth})
	if err != nil {
		return nil, err
	}
	return &objects{config: c, repository: r, client: client, bucket: b, found: map[string]listing{}}, nil
}

func (o *objects) close() { o.client.Close() }

// refresh lists each folder in use.
func (o *objects) refresh(ctx context.Context, sources []record.Source) error {
	found := map[string]listing{}
	if len(sources) == 0 {
		// No source uses it yet: one object shows whether it can be read.
		_, err := o.bucket.List(ctx, "", o.limits().Files)
		if errcode.Is(err, errcode.Unprocessable) {
			err = nil
		}
		return err
	}
	for _, s := range sources {
		if _, ok := found[s.Folder]; ok {
			continue
		}
		l := o.list(ctx, s.Folder)
		if l.err != nil && !errcode.Is(l.err, errcode.Unprocessable) {
			return l.err
		}
		found[s.Folder] = l
	}
	o.found = found
	return nil
}

func (o *objects) limits() tarball.Limits {
	l := o.config.Limits
	l.Files = cmp.Or(l.Files, tarball.DefaultLimits.Files)
	l.Bytes = cmp.Or(l.Bytes, tarball.DefaultLimits.Bytes)
	return l
}

func prefixOf(folder string) string {
	if folder == "" {
		return ""
	}
	return folder + "/"
}

func (o *objects) list(ctx context.Context, folder string) (l listing) {
	limits := o.limits()
	all, err := o.bucket.List(ctx, prefixOf(folder), limits.Files)
	if err != nil {
		return listing{err: err}
	}
	h := sha256.New()
	var size int64
	for _, x := range all {
		if strings.HasSuffix(x.Key, "/") && x.Size == 0 {
			continue // a placeholder that cloud consoles create for a folder
		}
		l.objects = append(l.objects, x)
		size += x.Size
	}
	slices.SortFunc(l.objects, func(a, b bucket.Object) int { return strings.Compare(a.Key, b.Key) })
	for _, x := range l.objects {
		fmt.Fprintf(h, "%d %s %s %d\n", len(x.Key), x.Key, x.ETag, x.Size)
	}
	l.sum = hex.EncodeToString(h.Sum(nil))
	switch {
	case len(l.objects) == 0:
		l.err = errcode.New(errcode.Unprocessable, "the bucket has no objects under %.200q", prefixOf(folder))
	case size > limits.Bytes:
		l.err = errcode.New(errcode.Unprocessable, "the objects under %.200q have %d bytes; at most %d are allowed", prefixOf(folder), size, limits.Bytes)
	}
	return l
}

func (o *objects) knows(sources []record.Source) bool {
	return !slices.ContainsFunc(sources, func(s record.Source) bool { _, ok := o.found[s.Folder]; return !ok })
}

func (o *objects) resolve(s record.Source) (target, error) {
	l, ok := o.found[s.Folder]
	if !ok {
		return target{}, errcode.New(errcode.Unavailable, "the bucket was not listed yet; the next poll lists it")
	}
	if l.err != nil {
		return target{}, l.err
	}
	return target{Key: strings.Join([]string{"bucket 1", s.Folder, l.sum}, "\n"), Revision: "sha256:" + l.sum, Commit: l.sum, Folder: s.Folder,
		Message: fmt.Sprintf("%d objects", len(l.objects))}, nil
}

// recall finds the objects of a recipe, if they did not change.
func (o *objects) recall(r record.Recipe) (target, error) {
	t, err := o.resolve(record.Source{Folder: r.Folder})
	if err == nil && t.Key != r.Tree {
		err = errcode.New(errcode.Unprocessable, "the objects under %.200q changed since", prefixOf(r.Folder))
	}
	return t, err
}

// fetch reads the objects of a folder in the listed versions.
func (o *objects) fetch(ctx context.Context, t *target, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	paths := digest.NewPathSet()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(downloads)
	for _, x := range o.found[t.Folder].objects {
		name := strings.TrimPrefix(x.Key, prefixOf(t.Folder))
		if err := paths.Add(name); err != nil {
			_ = group.Wait() // running reads write into the folder
			return errcode.New(errcode.Unprocessable, "an object's key is refused: %w", err)
		}
		group.Go(func() error { return o.object(ctx, root, name, x) })
	}
	return group.Wait()
}

func (o *objects) object(ctx context.Context, root *os.Root, name string, x bucket.Object) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = o.bucket.Get(ctx, x, f)
	return errors.Join(err, f.Close())
}
