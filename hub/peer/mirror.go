package peer

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// mirrorPath is where replicas copy repositories from each other.
	mirrorPath = Path + "mirrors/"
	// mirrorAnswer is how long a replica may take to begin a copy, and
	// mirrorStall how long one may send no byte, because git counts objects
	// meanwhile.
	mirrorAnswer = 30 * time.Second
	mirrorStall  = 5 * time.Minute
	// maxHaves limits the commits that a replica lists; fewer make the answer
	// larger, not wrong.
	maxHaves = 20_000
)

// CopyRequest describes what a replica has of a repository.
type CopyRequest struct {
	// Refs is the hash of its refs; an equal hash is answered with no bytes.
	Refs string `json:"refs"`
	// Haves are commits that it has completely, with all their ancestors.
	Haves []string `json:"haves"`
}

// Mirrors gives copies of repositories to other replicas.
type Mirrors interface {
	// CopyMirror writes what a replica lacks of this replica's copy of a
	// repository. same means that it lacks nothing; then nothing is written.
	// errcode.NotFound when there is no copy here.
	CopyMirror(ctx context.Context, repositoryID string, r CopyRequest, w io.Writer) (same bool, err error)
}

// serveMirror answers POST /peer/v1/mirrors/{repository}. A failure after the
// first bytes ends the answer early, which the pack's checksum reveals.
func (h handler) serveMirror(w http.ResponseWriter, r *http.Request) {
	var ask CopyRequest
	if err := bounded.ReadJSON(r.Body, &ask, maxBody); err != nil {
		refuse(w, errcode.New(errcode.Invalid, "the request cannot be read: %w", err))
		return
	}
	out := &lateWriter{w: w}
	same, err := h.Mirrors.CopyMirror(r.Context(), r.PathValue("repository"), ask, out)
	switch {
	case err != nil && !out.began:
		refuse(w, err)
	case same:
		w.WriteHeader(http.StatusNoContent)
	}
}

// lateWriter knows whether anything was written.
type lateWriter struct {
	w     http.ResponseWriter
	began bool
}

// Write writes p and records that bytes were written.
func (l *lateWriter) Write(p []byte) (int, error) {
	if l.began {
		return l.w.Write(p)
	}
	l.began = true
	l.w.Header().Set("Content-Type", "application/octet-stream")
	n, err := l.w.Write(p)
	// Flush, because the next bytes may take long and the other replica must
	// not take that for a stall. A connection that cannot flush fails at the
	// next write.
	_ = http.NewResponseController(l.w).Flush()
	return n, err
}

// Mirror requests what this replica lacks of a repository and passes the bytes
// to take, complete or with an error. same means that nothing is lacking.
func (c *Client) Mirror(ctx context.Context, to Replica, repositoryID string, ask CopyRequest, take func(io.Reader) error) (same bool, err error) {
	ask.Haves = ask.Haves[:min(len(ask.Haves), maxHaves)]
	body, err := json.Marshal(ask)
	if err != nil {
		return false, err
	}
	to.URL = strings.TrimSuffix(to.URL, "/")
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(mirrorAnswer, func() {
		cancel(errcode.New(errcode.Unavailable, "replica %s sent nothing of a repository for too long", to.Name))
	})
	defer stall.Stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL+mirrorPath+url.PathEscape(repositoryID), strings.NewReader(string(body)))
	if err != nil {
		return false, errcode.New(errcode.Internal, "%w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(r)
	if err != nil {
		return false, called(to, err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusNoContent:
		return true, nil
	case http.StatusOK:
		err := take(&stallReader{answer.Body, stall})
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return false, err
	}
	words, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	code := errcode.Code(answer.Header.Get(codeHeader))
	if err != nil || code == "" {
		return false, errcode.New(errcode.Unavailable, "replica %s answers %d", to.Name, answer.StatusCode)
	}
	return false, errcode.New(code, "replica %s: %s", to.Name, strings.TrimSpace(string(words)))
}

// stallReader resets a timer with each read.
type stallReader struct {
	io.Reader
	stall *time.Timer
}

// Read reads and resets the timer.
func (s *stallReader) Read(p []byte) (int, error) {
	s.stall.Reset(mirrorStall)
	return s.Reader.Read(p)
}
