package peer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
)

const (
	// tarballPath is the path for copies of stored tarballs.
	tarballPath = "/peer/v1/tarballs/"
	// codeHeader carries the code of a refusal; the body is its message.
	codeHeader = "Axle-Code"
	// storedOnly requests only what is on the disk there; nothing is built.
	storedOnly = "stored"
	// tarballTries limits how often an interrupted copy is continued.
	tarballTries = 5
	// tarballAnswer is how long the other replica may take to begin: it may
	// build.
	tarballAnswer = 5 * time.Minute
	// tarballStall ends an attempt that receives no byte for so long.
	tarballStall = 20 * time.Second
)

// Tarball is an open tarball of this replica.
type Tarball struct {
	io.ReadSeekCloser
	// Hash is the SHA-256 of the stored bytes, in hex.
	Hash string
}

// Tarballs serves bytes to other replicas. It asks no other replica itself, so
// a request makes one hop.
type Tarballs interface {
	// TarballHere opens a tarball of this replica. With build, a tarball that
	// is not on the disk is built if this replica owns its repository;
	// otherwise owned is false. errcode.NotFound when it is not here.
	TarballHere(ctx context.Context, d digest.Digest, build bool) (t *Tarball, owned bool, err error)
}

// NewTarballHandler returns the handler for other replicas' copies, and its
// pattern. key is that of NewHandler.
func NewTarballHandler(key []byte, c clock.Clock, t Tarballs) (pattern string, _ http.Handler, err error) {
	if len(key) == 0 || t == nil {
		return "", nil, errors.New("peer: a handler of tarballs needs a key and tarballs")
	}
	if c == nil {
		c = clock.Real{}
	}
	return "GET " + tarballPath + "{digest}", Verify(key, c, tarballs{t}), nil
}

type tarballs struct{ Tarballs }

// ServeHTTP answers GET /peer/v1/tarballs/{digest}[?stored=1].
func (h tarballs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d, err := digest.Parse(r.PathValue("digest"))
	if err != nil {
		refuse(w, errcode.New(errcode.Invalid, "%w", err))
		return
	}
	t, owned, err := h.TarballHere(r.Context(), d, r.URL.Query().Get(storedOnly) == "")
	if err == nil && !owned {
		err = errcode.New(errcode.Conflict, "this replica does not own the repository of %s", d.Short())
	}
	if err != nil {
		refuse(w, err)
		return
	}
	defer t.Close() //nolint:errcheck // it was only read
	w.Header().Set("Etag", `"`+t.Hash+`"`)
	w.Header().Set("Content-Type", "application/octet-stream")
	if r.Header.Get("If-Range") == "" {
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", time.Time{}, t)
}

func refuse(w http.ResponseWriter, err error) {
	code := errcode.Of(err)
	w.Header().Set(codeHeader, string(code))
	errcode.SetRetryAfter(w.Header(), err)
	http.Error(w, errcode.Message(err), errcode.HTTPStatus(code))
}

// Tarball copies the stored bytes of a digest from another replica into w, and
// continues an interrupted copy where it ended. The bytes that it wrote have
// the hash that the other replica named; the caller must check that they are
// the content. owned is false when build was requested from a replica that does
// not own the repository. After an error w holds a part.
func (c *Client) Tarball(ctx context.Context, to Replica, d digest.Digest, build bool, w io.Writer) (owned bool, err error) {
	t := &copying{client: c, url: strings.TrimSuffix(to.URL, "/") + tarballPath + d.String(), w: w, hash: sha256.New(), size: -1}
	if !build {
		t.url += "?" + storedOnly + "=1"
	}
	backoff := jitter.Backoff{Min: 200 * time.Millisecond, Max: 3 * time.Second}
	for try := 1; ; try++ {
		err := t.attempt(ctx)
		switch {
		case err == nil:
			return true, t.check(to)
		case errcode.Is(err, errcode.Conflict):
			return false, nil
		case t.n == 0 || !errors.Is(err, errCut) || try == tarballTries:
			return true, errcode.Hide(errcode.Of(err), err, "replica %s: %v", to.Name, err).After(errcode.RetryAfter(err))
		}
		if jitter.Wait(ctx, backoff.Next()) != nil {
			return true, ctx.Err()
		}
	}
}

// errCut marks a copy that can be continued.
var errCut = errors.New("the copy was cut")

// copying is one copy over several attempts.
type copying struct {
	client *Client
	url    string
	w      io.Writer
	hash   hash.Hash
	etag   string
	n      int64
	size   int64
}

func (t *copying) attempt(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stall := time.AfterFunc(tarballAnswer, cancel)
	defer stall.Stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url, nil)
	if err != nil {
		return errcode.New(errcode.Internal, "%w", err)
	}
	if t.n > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", t.n))
		r.Header.Set("If-Range", t.etag)
	}
	answer, err := t.client.http.Do(r)
	if err != nil {
		return errors.Join(errCut, errUnanswered, errcode.New(errcode.Unavailable, "no answer: %w", err))
	}
	defer answer.Body.Close()
	if err := t.accept(answer); err != nil {
		return err
	}
	return t.read(answer.Body, stall)
}

func (t *copying) accept(r *http.Response) error {
	switch {
	case r.StatusCode == http.StatusOK && t.n == 0:
		t.etag, t.size = r.Header.Get("Etag"), r.ContentLength
		return nil
	case r.StatusCode == http.StatusPartialContent && t.n > 0 && strings.HasPrefix(r.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", t.n)):
		return nil
	case r.StatusCode == http.StatusOK:
		return errcode.New(errcode.Unavailable, "the stored bytes changed during the copy").After(time.Second)
	}
	words, err := io.ReadAll(io.LimitReader(r.Body, 4<<10))
	if err != nil {
		return errors.Join(errCut, errcode.New(errcode.Unavailable, "%w", err))
	}
	code := errcode.Code(r.Header.Get(codeHeader))
	if code == "" {
		return errors.Join(errUnanswered, errcode.New(errcode.Unavailable, "it answers %d", r.StatusCode))
	}
	seconds, _ := strconv.Atoi(r.Header.Get("Retry-After"))
	return errcode.New(code, "%s", strings.TrimSpace(string(words))).After(time.Duration(seconds) * time.Second)
}

func (t *copying) read(body io.Reader, stall *time.Timer) error {
	buf := make([]byte, 64<<10)
	for {
		stall.Reset(tarballStall)
		n, err := body.Read(buf)
		t.n += int64(n)
		t.hash.Write(buf[:n])
		if _, err := t.w.Write(buf[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) && (t.size < 0 || t.n == t.size) {
			return nil
		}
		if err != nil {
			return errors.Join(errCut, errcode.New(errcode.Unavailable, "interrupted at byte %d: %w", t.n, err))
		}
	}
}

// check compares the received bytes with the announced hash.
func (t *copying) check(from Replica) error {
	if got := `"` + hex.EncodeToString(t.hash.Sum(nil)) + `"`; got != t.etag {
		return errcode.New(errcode.Unavailable, "replica %s sent bytes with hash %s instead of %s; something between the replicas altered them", from.Name, got, t.etag)
	}
	return nil
}
