package hubclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/tarball"
)

const (
	// stallTimeout ends an attempt that receives no byte for this long.
	stallTimeout = 30 * time.Second
	// downloadTimeout bounds a download with all its attempts.
	downloadTimeout = 15 * time.Minute
	// downloadAttempts bounds how often one download is resumed.
	downloadAttempts = 8
	// maxTarball bounds the compressed bytes.
	maxTarball = 1 << 30
)

// deltaType is the content type of a delta.
const deltaType = "application/vnd.axle.delta"

// servedBy names the replica and level that served the bytes.
const servedBy = "Axle-Served-By"

// Download starts a download. Its reader resumes an interrupted one at the byte where it
// ended; its errors are *AnswerError.
func (c *Client) Download(ctx context.Context, r tarball.Request) (*tarball.Download, error) {
	if _, err := digest.Parse(r.Digest.String()); err != nil {
		return nil, errcode.New(errcode.Invalid, "no tarball has that name: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	t := &download{
		client: c, ctx: ctx, cancel: cancel, digest: r.Digest, have: r.Have, size: -1,
		backoff: jitter.Backoff{Min: 500 * time.Millisecond, Max: 10 * time.Second},
	}
	if r.Offset > 0 && r.ETag != "" {
		t.offset, t.etag, t.fresh = r.Offset, r.ETag, true
	}
	if err := t.resume(nil); err != nil {
		cancel()
		return nil, err
	}
	return &tarball.Download{ReadCloser: t, Delta: t.delta, Offset: t.offset, ETag: t.etag, Size: t.size, From: t.from}, nil
}

type download struct {
	client  *Client
	ctx     context.Context
	cancel  context.CancelFunc
	digest  digest.Digest
	have    digest.Digest
	backoff jitter.Backoff
	tries   int

	body   io.ReadCloser
	end    context.CancelFunc // of the running attempt
	stall  *time.Timer
	etag   string
	offset int64
	size   int64 // of the whole, -1 while unknown
	// fresh is true until the first answer: until then it may start over.
	fresh bool
	delta bool
	from  string
}

// Read implements io.Reader.
func (t *download) Read(p []byte) (int, error) {
	for {
		if t.size >= 0 && t.offset == t.size {
			return 0, io.EOF
		}
		t.stall.Reset(stallTimeout)
		n, err := t.body.Read(p)
		t.offset += int64(n)
		if t.offset > maxTarball {
			return n, hold(Refused, 0, errcode.Exhausted, "the tarball %s is larger than %d MiB", t.digest.Short(), maxTarball>>20)
		}
		if n > 0 {
			return n, nil
		}
		if errors.Is(err, io.EOF) && t.size < 0 {
			return 0, io.EOF
		}
		if err == nil {
			continue
		}
		if err := t.resume(err); err != nil {
			return 0, err
		}
	}
}

// Close ends the download.
func (t *download) Close() error {
	defer t.cancel()
	return t.stop()
}

func (t *download) stop() error {
	if t.body == nil {
		return nil
	}
	t.stall.Stop()
	t.end()
	err := t.body.Close()
	t.body = nil
	return err
}

// resume requests the rest of the content after the error why, nil at the start.
func (t *download) resume(why error) error {
	for {
		if t.tries >= downloadAttempts || t.tries > 0 && t.client.attempts == 1 {
			return t.interrupted(why, fmt.Errorf("was interrupted at byte %d: %w", t.offset, why))
		}
		if why != nil {
			if err := t.stop(); err != nil {
				why = errors.Join(why, err)
			}
			if err := t.wait(why); err != nil {
				return err
			}
		}
		t.tries++
		err := t.open()
		var answer *AnswerError
		if err == nil || !errors.As(err, &answer) || !answer.again() {
			return err
		}
		why = err
	}
}

// interrupted is the end of a download whose last attempt failed as why. The hub is away only if
// it was then: what cuts each answer, and a hub that refuses in its own words, may go on for ever.
func (t *download) interrupted(why, end error) *AnswerError {
	e := unreachable(fmt.Errorf("the download of %s %w", t.digest.Short(), end))
	var answer *AnswerError
	e.away = errors.As(why, &answer) && answer.away
	return e
}

func (t *download) wait(why error) error {
	var after time.Duration
	var answer *AnswerError
	if errors.As(why, &answer) {
		after = answer.RetryAfter()
	}
	select {
	case <-t.client.clock.After(after + t.backoff.Next()):
		return nil
	case <-t.ctx.Done():
		return t.interrupted(why, fmt.Errorf("did not end in time: %w", t.ctx.Err()))
	}
}

func (t *download) open() error {
	ctx, end := context.WithCancel(t.ctx)
	stall := time.AfterFunc(stallTimeout, end)
	fail := func(err error) error {
		stall.Stop()
		end()
		return err
	}
	h := t.client.header()
	if t.offset > 0 {
		h["Range"] = []string{fmt.Sprintf("bytes=%d-", t.offset)}
		h["If-Range"] = []string{t.etag}
	}
	u := t.client.origin.JoinPath("/agent/v1/tarballs/", t.digest.String())
	if t.have != "" {
		u.RawQuery = "have=" + url.QueryEscape(t.have.String())
	}
	r := (&http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: h}).WithContext(ctx)
	answer, err := t.client.roundTrip(r)
	if err != nil {
		return fail(err)
	}
	if err := t.accept(answer); err != nil {
		err = errors.Join(err, answer.Body.Close())
		return fail(err)
	}
	t.body, t.end, t.stall = answer.Body, end, stall
	return nil
}

// accept checks that an answer continues where the last one ended.
func (t *download) accept(r *http.Response) error {
	began := t.fresh || t.offset == 0 // nothing was read yet
	switch {
	case r.StatusCode == http.StatusOK && began:
		t.offset = 0
	case r.StatusCode == http.StatusPartialContent && t.offset > 0:
	case r.StatusCode == http.StatusRequestedRangeNotSatisfiable && t.fresh:
		// The stored bytes are not the beginning of the present content.
		t.offset, t.fresh = 0, false
		return hold(Busy, r.StatusCode, errcode.Unavailable, "the bytes of %s changed since the last attempt; it starts again", t.digest.Short())
	case r.StatusCode == http.StatusOK:
		return hold(Busy, r.StatusCode, errcode.Unavailable, "the bytes of %s changed during the download; it starts again", t.digest.Short()).restart()
	default:
		return refusal(r)
	}
	kind := r.Header.Get("Content-Type")
	delta := kind == deltaType && t.have != ""
	if !delta && !tarballType(kind) {
		return notTheHub(r)
	}
	if t.offset > 0 {
		total, ok := strings.CutPrefix(r.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", t.offset))
		if !ok {
			return hold(NotTheHub, r.StatusCode, errcode.Unavailable, "the rest of %s does not start at byte %d", t.digest.Short(), t.offset)
		}
		if _, total, ok = strings.Cut(total, "/"); ok && t.fresh {
			if n, err := strconv.ParseInt(total, 10, 64); err == nil && n >= t.offset {
				t.size = n
			}
		}
		t.fresh, t.from = false, r.Header.Get(servedBy)
		return nil
	}
	t.fresh, t.delta, t.from = false, delta, r.Header.Get(servedBy)
	t.etag, t.size = r.Header.Get("Etag"), r.ContentLength
	if strings.HasPrefix(t.etag, "W/") {
		t.etag = ""
	}
	return nil
}

func tarballType(kind string) bool {
	return kind == "application/zstd" || kind == "application/octet-stream" || strings.HasSuffix(kind, "+zstd")
}

// restart makes the error one that only a new download may retry: the bytes read so
// far belong to other content.
func (e *AnswerError) restart() *AnswerError {
	e.Reason = Refused
	return e
}
