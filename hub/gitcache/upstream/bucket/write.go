package bucket

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// partBytes is how much of an object is in memory. A bucket takes 10,000 parts, and
	// none but the last below 5 MiB.
	partBytes, maxParts = 16 << 20, 10_000
	// partTimeout limits the upload of a part: 16 MiB in 5 min is 56 KB/s.
	partTimeout = 5 * time.Minute
	// cleanTimeout limits the end of an upload that failed.
	cleanTimeout = 30 * time.Second
	// uploadAge is how old an upload must be before it counts as left by a kill.
	uploadAge = 24 * time.Hour
)

// again repeats a call while the store is not available.
func again(o *s3.Options) {
	o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = []retry.IsErrorRetryable{retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			return aws.BoolTernary(errcode.Is(err, errcode.Unavailable))
		})}
	})
}

// Put writes what fill produces to an object of an S3 store, all or nothing, and
// returns its size. It is sent in parts, one after the other.
func (b *Bucket) Put(ctx context.Context, key string, fill func(w io.Writer) error) (_ int64, err error) {
	begun, err := b.s3.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: bucketName, Key: &key}, again)
	if err != nil {
		return 0, explained(err)
	}
	u := &upload{ctx: ctx, s3: b.s3, key: key, id: begun.UploadId}
	defer func() {
		if err != nil {
			// Also when ctx has ended: parts cost money until somebody removes them.
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
			defer cancel()
			err = errors.Join(err, b.abort(clean, key, u.id))
		}
	}()
	w := parts{bufio.NewWriterSize(u, partBytes)}
	if err = fill(w); err == nil {
		err = w.Flush()
	}
	if err == nil && len(u.parts) == 0 { // an empty object has one part, too
		_, err = u.Write(nil)
	}
	if err != nil {
		return 0, err
	}
	_, err = b.s3.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: bucketName, Key: &key, UploadId: u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
	}, again)
	return u.bytes, explained(err)
}

// parts are full, however large a write is.
type parts struct{ *bufio.Writer }

// Write implements io.Writer.
func (p parts) Write(b []byte) (int, error) {
	n, err := p.ReadFrom(bytes.NewReader(b))
	return int(n), err
}

// upload sends each write as a part.
type upload struct {
	ctx   context.Context //nolint:containedctx // of one Put
	s3    *s3.Client
	key   string
	id    *string
	parts []types.CompletedPart
	bytes int64
}

// Write implements io.Writer.
func (u *upload) Write(p []byte) (int, error) {
	number := int32(len(u.parts) + 1)
	if number > maxParts {
		return 0, errcode.New(errcode.Exhausted, "the object is larger than %d GiB, the most that fits in parts of %d MiB; keep it elsewhere", partBytes/(1<<20)*maxParts/1024, partBytes>>20)
	}
	ctx, cancel := context.WithTimeout(u.ctx, partTimeout)
	defer cancel()
	part, err := u.s3.UploadPart(ctx, &s3.UploadPartInput{Bucket: bucketName, Key: &u.key, UploadId: u.id, PartNumber: &number, Body: bytes.NewReader(p)}, again)
	if err != nil {
		return 0, fmt.Errorf("part %d: %w", number, explained(err))
	}
	u.bytes += int64(len(p))
	u.parts = append(u.parts, types.CompletedPart{ETag: part.ETag, PartNumber: &number})
	return len(p), nil
}

func (b *Bucket) abort(ctx context.Context, key string, id *string) error {
	_, err := b.s3.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: bucketName, Key: &key, UploadId: id}, again)
	return explained(err)
}

// Sweep aborts what killed uploads left under a prefix of an S3 store, where ours
// accepts the key. A store that does not list them has its own rule for them, and what
// cannot be aborted now is found again by the next sweep.
func (b *Bucket) Sweep(ctx context.Context, prefix string, ours func(key string) bool) {
	page, err := b.s3.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: bucketName, Prefix: &prefix})
	if err != nil {
		return
	}
	for _, u := range page.Uploads {
		if key := aws.ToString(u.Key); ours(key) && u.Initiated != nil && time.Since(*u.Initiated) >= uploadAge {
			_ = b.abort(ctx, key, u.UploadId)
		}
	}
}

// Remove deletes an object of an S3 store, and does nothing when it is gone.
func (b *Bucket) Remove(ctx context.Context, key string) error {
	_, err := b.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: bucketName, Key: &key}, again)
	return explained(err)
}
