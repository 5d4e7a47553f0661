// Package bucket is the hub's client of object stores. It lists and reads them, and
// in stores with the S3 protocol, which Google Cloud Storage supports too, it writes
// and removes. The S3 protocol is that of Amazon's SDK; the few calls of Azure Blob
// Storage that it needs are its own.
//
// It signs nothing itself (a wire.Auth does), and keeps nothing. The agent of artifact
// repositories and hub/backup call it.
//
// Invariants: each request is made by a wire.Client; a listing is complete or an
// error, and no longer than the caller's limit; an object of a repository is read only
// in the version that was listed; an object that is written is there whole or not at
// all.
package bucket

import (
	"context"
	"io"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

// Config configures a Bucket. URL and Client are required.
type Config struct {
	// URL is s3://BUCKET, gs://BUCKET, azblob://ACCOUNT/CONTAINER, or the
	// https URL of a bucket: https://s3.example.com/BUCKET.
	URL string
	// Endpoint is required for s3, and replaces the cloud's own for gs and
	// azblob.
	Endpoint string
	Client   *wire.Client
	Auth     wire.Auth // nil is anonymous
}

// Bucket is one bucket.
type Bucket struct {
	s3    *s3.Client // nil for Azure
	azure azure
}

// New checks the URL.
func New(c Config) (*Bucket, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" {
		return nil, errcode.New(errcode.Invalid, "the bucket's URL cannot be read")
	}
	path := strings.Trim(u.Path, "/")
	endpoint := strings.TrimSuffix(c.Endpoint, "/")
	base := strings.TrimSuffix(u.Scheme+"://"+u.Host+"/"+path, "/")
	isAzure := strings.Contains(u.Host, ".blob.core.")
	switch u.Scheme {
	case "s3":
		base = endpoint + "/" + u.Host
	case "gs":
		base = or(endpoint, "https://storage.googleapis.com") + "/" + u.Host
	case "azblob":
		if path == "" {
			return nil, errcode.New(errcode.Invalid, "the bucket's URL names no container; give one like azblob://ACCOUNT/CONTAINER")
		}
		base, isAzure = or(endpoint, "https://"+u.Host+".blob.core.windows.net")+"/"+path, true
	}
	if path != "" && (u.Scheme == "s3" || u.Scheme == "gs") {
		return nil, errcode.New(errcode.Invalid, "the bucket's URL holds a path; name the folder with the source instead")
	}
	if isAzure {
		return &Bucket{azure: azure{base, c.Client, c.Auth}}, nil
	}
	s, err := newS3(base, c)
	return &Bucket{s3: s}, err
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Object is one object as it was listed.
type Object struct {
	Key  string
	ETag string
	Size int64
}

// List lists the objects under a prefix, at most limit of them.
func (b *Bucket) List(ctx context.Context, prefix string, limit int) ([]Object, error) {
	var all []Object
	next := ""
	for page := 0; ; page++ {
		objects, after, err := b.page(ctx, prefix, next)
		if err != nil {
			return nil, err
		}
		if all = append(all, objects...); len(all) > limit {
			return nil, errcode.New(errcode.Unprocessable, "there are more than %d objects under %.200q", limit, prefix)
		}
		if after == "" {
			return all, nil
		}
		if after == next || page > limit {
			return nil, errcode.New(errcode.Unavailable, "the bucket's listing repeats itself without end")
		}
		next = after
	}
}

// Get writes an object to w if it is still the listed version.
func (b *Bucket) Get(ctx context.Context, o Object, w io.Writer) error {
	body, err := b.open(ctx, o.Key, o.ETag)
	if err != nil {
		return err
	}
	defer body.Close()
	n, err := io.Copy(w, io.LimitReader(body, o.Size+1))
	if err == nil && n != o.Size {
		err = errcode.New(errcode.Unavailable, "object %.200q has another size than was listed", o.Key)
	}
	return err
}

// changed is the error of an object that has no longer the tag.
func changed(key string) error {
	return errcode.New(errcode.Unavailable, "object %.200q changed while the bucket was read; the next poll reads it again", key)
}

// notAStore is the error of a listing that cannot be read.
func notAStore() error {
	return errcode.New(errcode.Unavailable, "the bucket's listing is not what an object store sends; check the URL")
}

// quoted quotes a tag, as a condition needs it.
func quoted(etag string) string {
	if strings.HasSuffix(etag, `"`) {
		return etag
	}
	return `"` + etag + `"`
}
