package backup

import (
	"context"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/axle-cd/axle/hub/gitcache/upstream/bucket"
	"github.com/axle-cd/axle/hub/gitcache/upstream/cloudauth"
	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// silence is how long a store may take to begin or to go on with an answer.
	silence = 5 * time.Minute
	// maxListed bounds a listing.
	maxListed = 100_000
)

// objects is a prefix in a bucket.
type objects struct {
	store        *bucket.Bucket
	name, prefix string
}

func openBucket(ctx context.Context, name, prefix string, a Access) (Place, error) {
	client, err := wire.New(wire.Config{Dialer: &wire.Anywhere{}, AllowHTTP: true, Silence: silence})
	if err != nil {
		return nil, err
	}
	keys := &cloudauth.AWS{HubIdentity: true}
	if a.CredentialsFile != "" {
		if keys, err = keysIn(ctx, a.CredentialsFile); err != nil {
			return nil, err
		}
	}
	keys.Region, keys.Client, keys.Env = a.Region, client, cloudauth.Operators(nil, a.Endpoint)
	if a.Endpoint == "" {
		if a.Endpoint, err = keys.ServiceURL("s3"); err != nil {
			return nil, err
		}
	}
	if prefix != "" {
		prefix += "/"
	}
	store, err := bucket.New(bucket.Config{URL: "s3://" + name, Endpoint: a.Endpoint, Client: client, Auth: keys.S3()})
	return objects{store, name, prefix}, err
}

// keysIn reads a file of credentials, and nothing of the environment.
func keysIn(ctx context.Context, file string) (*cloudauth.AWS, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, errcode.New(errcode.Invalid, "the credentials of the bucket cannot be read: %w", err)
	}
	profile, err := config.LoadSharedConfigProfile(ctx, "default", func(o *config.LoadSharedConfigOptions) {
		o.CredentialsFiles, o.ConfigFiles = []string{file}, []string{}
	})
	if err != nil || profile.Credentials.AccessKeyID == "" {
		// Whatever the parser says may quote the file.
		return nil, errcode.Hide(errcode.Invalid, err, "%s is not a file of credentials: write [default], aws_access_key_id = … and aws_secret_access_key = … on three lines", file)
	}
	k := profile.Credentials
	return &cloudauth.AWS{AccessKeyID: k.AccessKeyID, SecretAccessKey: k.SecretAccessKey, SessionToken: k.SessionToken}, nil
}

// explained adds to a failure which bucket it is, and what to do.
func (b objects) explained(what string, err error) error {
	code, hint := errcode.Of(err), ""
	switch {
	case err == nil:
		return nil
	case code == errcode.NotFound && (what == "list" || what == "upload"):
		hint = "; create it, or name another"
	case code == errcode.Unauthorized:
		code, hint = errcode.Forbidden, "; look at its keys (--backup-credentials-file) or its role, which needs to list, read, write and delete objects, and to list and abort uploads"
	}
	return errcode.Hide(code, err, "the bucket %s: %s: %s%s", b.name, what, errcode.Text(err), hint)
}

// Put implements Place.
func (b objects) Put(ctx context.Context, name string, fill func(w io.Writer) error) (int64, error) {
	b.store.Sweep(ctx, b.prefix+"axle-", func(key string) bool { _, ours := fileOf(path.Base(key), 0); return ours })
	size, err := b.store.Put(ctx, b.prefix+name, fill)
	return size, b.explained("upload", err)
}

// List implements Place.
func (b objects) List(ctx context.Context) ([]File, error) {
	all, err := b.store.List(ctx, b.prefix+"axle-", maxListed)
	if err != nil {
		return nil, b.explained("list", err)
	}
	var files []File
	for _, o := range all {
		if f, ok := fileOf(strings.TrimPrefix(o.Key, b.prefix), o.Size); ok {
			files = append(files, f)
		}
	}
	return newestFirst(slices.Clip(files)), nil
}

// Open implements Place.
func (b objects) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	body, err := b.store.Open(ctx, b.prefix+name)
	return body, b.explained("read "+b.prefix+name, err)
}

// Remove implements Place.
func (b objects) Remove(ctx context.Context, name string) error {
	return b.explained("remove "+name, b.store.Remove(ctx, b.prefix+name))
}
