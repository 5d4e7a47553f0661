package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// partBytes is how much of a backup is in memory. A bucket takes 10,000 parts, and
	// none but the last below 5 MiB.
	partBytes, maxParts = 16 << 20, 10_000
	// callTimeout limits one call, and with it the upload of a part: 16 MiB in 5 min
	// is 56 KB/s.
	callTimeout = 5 * time.Minute
	// idleTimeout limits how long a download may stand still.
	idleTimeout = time.Minute
	// cleanTimeout limits the end of an upload that failed.
	cleanTimeout = 30 * time.Second
	// uploadAge is how old an upload must be before it counts as left by a kill: no
	// backup takes as long.
	uploadAge = 24 * time.Hour
	// maxListed bounds a listing.
	maxListed = 100_000
	// defaultRegion is what S3-compatible stores take, which have no regions.
	defaultRegion = "us-east-1"
)

// bucket is a prefix in a bucket.
type bucket struct {
	client       *s3.Client
	name, prefix string
}

func openBucket(ctx context.Context, name, prefix string, a Access) (Place, error) {
	ctx, cancel := context.WithTimeout(ctx, cleanTimeout)
	defer cancel()
	// What goes wrong comes back as an error; the SDK would also write to standard error.
	options := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})}
	if a.Region != "" {
		options = append(options, config.WithRegion(a.Region))
	}
	if a.CredentialsFile != "" {
		keys, err := keysIn(ctx, a.CredentialsFile)
		if err != nil {
			return nil, err
		}
		options = append(options, config.WithCredentialsProvider(keys))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the settings of the bucket cannot be read: %w", err)
	}
	if loaded.Region == "" {
		loaded.Region = defaultRegion
	}
	client := s3.NewFromConfig(loaded, func(o *s3.Options) {
		// Compatible stores do not all know the checksums that Amazon's takes; the last
		// line of a backup has the hash of all of it.
		o.RequestChecksumCalculation, o.ResponseChecksumValidation = aws.RequestChecksumCalculationWhenRequired, aws.ResponseChecksumValidationWhenRequired
		if a.Endpoint != "" {
			o.BaseEndpoint, o.UsePathStyle = &a.Endpoint, true
		}
	})
	if prefix != "" {
		prefix += "/"
	}
	return bucket{client, name, prefix}, nil
}

// keysIn reads a file of credentials, and nothing of the environment.
func keysIn(ctx context.Context, file string) (aws.CredentialsProvider, error) {
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
	return credentials.NewStaticCredentialsProvider(k.AccessKeyID, k.SecretAccessKey, k.SessionToken), nil
}

// explained gives the store's answer a code, and what to do.
func (b bucket) explained(what string, err error) error {
	if err == nil {
		return nil
	}
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		if strings.Contains(err.Error(), "get credentials") {
			return errcode.New(errcode.Forbidden, "the bucket %s: %s: there are no keys for it: give --backup-credentials-file, or the hub's pod or machine a role: %w", b.name, what, err)
		}
		return errcode.New(errcode.Unavailable, "the bucket %s: %s: %w", b.name, what, err)
	}
	code, hint := errcode.Unavailable, ""
	switch answer.ErrorCode() {
	case "NoSuchKey", "NotFound":
		code = errcode.NotFound
	case "NoSuchBucket":
		code, hint = errcode.NotFound, "; create it, or name another"
	case "AccessDenied", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken":
		code, hint = errcode.Forbidden, "; look at its keys or its role, which needs to list, read, write and delete objects, and to list and abort uploads"
	case "PermanentRedirect", "AuthorizationHeaderMalformed":
		hint = "; give the bucket's region"
	}
	return errcode.Hide(code, err, "the bucket %s: %s: %s %.200s%s", b.name, what, answer.ErrorCode(), answer.ErrorMessage(), hint)
}

// Put implements Place.
func (b bucket) Put(ctx context.Context, name string, fill func(w io.Writer) error) (_ int64, err error) {
	b.sweep(ctx)
	key := b.prefix + name
	began, cancel := context.WithTimeout(ctx, callTimeout)
	upload, err := b.client.CreateMultipartUpload(began, &s3.CreateMultipartUploadInput{Bucket: &b.name, Key: &key})
	cancel()
	if err != nil {
		return 0, b.explained("begin an upload", err)
	}
	u := &uploading{ctx: ctx, bucket: b, key: key, id: aws.ToString(upload.UploadId)}
	defer func() {
		if err != nil {
			// Also when ctx has ended: parts cost money until somebody removes them.
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
			defer cancel()
			_, aerr := b.client.AbortMultipartUpload(clean, &s3.AbortMultipartUploadInput{Bucket: &b.name, Key: &key, UploadId: &u.id})
			err = errors.Join(err, b.explained("abort the upload", aerr))
		}
	}()
	if err := fill(u); err != nil {
		return 0, err
	}
	err = u.complete()
	return u.bytes, err
}

// sweep aborts what killed uploads left. A store that does not list them has its own
// rule for them.
func (b bucket) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	page, err := b.client.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: &b.name, Prefix: aws.String(b.prefix + "axle-")})
	if err != nil {
		return
	}
	for _, u := range page.Uploads {
		if _, ours := fileOf(path.Base(aws.ToString(u.Key)), 0); !ours || u.Initiated == nil || time.Since(*u.Initiated) < uploadAge {
			continue
		}
		// What cannot be aborted now is found again by the next backup.
		_, _ = b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.name, Key: u.Key, UploadId: u.UploadId})
	}
}

// uploading collects what is written and sends it in parts.
type uploading struct {
	ctx     context.Context //nolint:containedctx // of one Put
	bucket  bucket
	key, id string
	pending bytes.Buffer
	parts   []types.CompletedPart
	bytes   int64
}

// Write implements io.Writer.
func (u *uploading) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		n := min(len(p), partBytes-u.pending.Len())
		u.pending.Write(p[:n])
		p = p[n:]
		if u.pending.Len() == partBytes {
			if err := u.send(); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

func (u *uploading) send() error {
	number := int32(len(u.parts) + 1)
	if number > maxParts {
		return errcode.New(errcode.Exhausted, "the backup is larger than %d GiB, the most that one object holds in parts of %d MiB; back up to a folder", partBytes/(1<<20)*maxParts/1024, partBytes>>20)
	}
	ctx, cancel := context.WithTimeout(u.ctx, callTimeout)
	defer cancel()
	part, err := u.bucket.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &u.bucket.name, Key: &u.key, UploadId: &u.id, PartNumber: &number, Body: bytes.NewReader(u.pending.Bytes()),
	})
	if err != nil {
		return u.bucket.explained(fmt.Sprintf("upload part %d", number), err)
	}
	u.bytes += int64(u.pending.Len())
	u.pending.Reset()
	u.parts = append(u.parts, types.CompletedPart{ETag: part.ETag, PartNumber: &number})
	return nil
}

func (u *uploading) complete() error {
	if u.pending.Len() > 0 || len(u.parts) == 0 {
		if err := u.send(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(u.ctx, callTimeout)
	defer cancel()
	_, err := u.bucket.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &u.bucket.name, Key: &u.key, UploadId: &u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
	})
	return u.bucket.explained("complete the upload", err)
}

// List implements Place.
func (b bucket) List(ctx context.Context) ([]File, error) {
	var files []File
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: aws.String(b.prefix + "axle-")})
	for seen := 0; pages.HasMorePages(); {
		page, err := b.page(ctx, pages)
		if err != nil {
			return nil, err
		}
		for _, o := range page.Contents {
			name, _ := strings.CutPrefix(aws.ToString(o.Key), b.prefix)
			if f, ok := fileOf(name, aws.ToInt64(o.Size)); ok {
				files = append(files, f)
			}
		}
		if seen += len(page.Contents); seen > maxListed {
			return nil, errcode.New(errcode.Exhausted, "the bucket %s has more than %d objects that begin with %saxle-; remove some", b.name, maxListed, b.prefix)
		}
	}
	return newestFirst(slices.Clip(files)), nil
}

func (b bucket) page(ctx context.Context, pages *s3.ListObjectsV2Paginator) (*s3.ListObjectsV2Output, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	page, err := pages.NextPage(ctx)
	return page, b.explained("list", err)
}

// Open implements Place.
func (b bucket) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	ctx, stop := context.WithCancel(ctx)
	idle := time.AfterFunc(idleTimeout, stop)
	answer, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + name)})
	idle.Stop()
	if err != nil {
		stop()
		return nil, b.explained("read "+b.prefix+name, err)
	}
	return &download{body: answer.Body, idle: idle, stop: stop}, nil
}

// download is a body that is given up when nothing arrives for a minute.
type download struct {
	body io.ReadCloser
	idle *time.Timer
	stop context.CancelFunc
}

// Read implements io.Reader.
func (d *download) Read(p []byte) (int, error) {
	d.idle.Reset(idleTimeout)
	defer d.idle.Stop()
	return d.body.Read(p)
}

// Close implements io.Closer.
func (d *download) Close() error {
	d.stop()
	return d.body.Close()
}

// Remove implements Place.
func (b bucket) Remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + name)})
	return b.explained("remove "+name, err)
}
