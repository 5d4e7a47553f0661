package repoagent

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

const (
	// headBatch is how many heads are written at once, and headWait how long
	// finished ones wait for others.
	headBatch = 200
	headWait  = time.Second
)

// LoadHeads reads Heads from the store.
func (a *Agent) LoadHeads(ctx context.Context) error {
	heads, err := a.Config.Store.Heads(ctx, a.Config.RepositoryID)
	if err != nil {
		return err
	}
	clear(a.Heads)
	for _, h := range heads {
		a.Heads[h.SourceID] = h
	}
	return nil
}

// Produced completes the row of a source whose content was found, by what
// upstream showed in the last read.
func (a *Agent) Produced(h *record.Head) {
	h.Error, h.ErrorCode, h.ErrorSince = "", "", time.Time{}
	h.Epoch, h.FetchSeq, h.FetchedAt = a.Config.Epoch, a.fetchSeq, a.readAt
}

// Failed returns the row of a source that cannot be produced: it keeps its
// content. Nil when the row says so already.
func (a *Agent) Failed(s record.Source, old record.Head, err error) *record.Head {
	err = a.Told(err)
	text := errcode.Message(err)
	if sameError(text, old.Error) && old.SourceID != "" {
		return nil
	}
	head := old
	head.SourceID, head.RepositoryID = s.ID, s.RepositoryID
	head.Error, head.ErrorCode, head.FetchSeq = text, errcode.Of(err), a.fetchSeq
	if head.ErrorSince.IsZero() {
		head.ErrorSince = a.Config.Clock.Now()
	}
	return &head
}

// sameError compares what is wrong, which stands before the first semicolon,
// and not the hints behind it: a new folder elsewhere is no news for a source
// that looks for another.
func sameError(a, b string) bool {
	a, _, _ = strings.Cut(a, ";")
	b, _, _ = strings.Cut(b, ";")
	return a == b
}

// Unavailable is why a source has nothing while upstream cannot be read. It is
// never Unprocessable: the source itself may be good.
func Unavailable(cause error) error {
	if errcode.Is(cause, errcode.Unprocessable) {
		return errcode.New(errcode.Unavailable, "%s", errcode.Message(cause))
	}
	return cause
}

// Refused gives a code to what the user's content is refused for.
func Refused(err error) error {
	var path *digest.PathError
	var limit *tarball.LimitError
	if errors.As(err, &path) || errors.As(err, &limit) {
		return errcode.New(errcode.Unprocessable, "%w", err)
	}
	return err
}

// Write writes heads and artifacts under the lease.
func (a *Agent) Write(ctx context.Context, heads []record.Head, artifacts []record.Artifact) error {
	return a.Config.Store.WriteHeads(ctx, a.Config.RepositoryID, a.Config.Epoch, heads, artifacts)
}

// HeadWriter writes the heads of one evaluation in batches.
type HeadWriter struct {
	agent     *Agent
	write     func(context.Context, []record.Head, []record.Artifact) error
	began     time.Time // of the oldest head that waits
	heads     []record.Head
	artifacts []record.Artifact
}

// HeadWriter returns one that calls write, which is Write or ends in it.
func (a *Agent) HeadWriter(write func(context.Context, []record.Head, []record.Artifact) error) *HeadWriter {
	return &HeadWriter{agent: a, write: write}
}

// Add takes a head, with the artifact that is new for it, if any. On an error
// none of the batch is written.
func (w *HeadWriter) Add(ctx context.Context, h record.Head, artifact *record.Artifact) error {
	now := w.agent.Config.Clock.Now()
	if len(w.heads) == 0 {
		w.began = now
	}
	w.heads = append(w.heads, h)
	if artifact != nil {
		w.artifacts = append(w.artifacts, *artifact)
	}
	if len(w.heads) >= headBatch || now.Sub(w.began) >= headWait {
		return w.Flush(ctx)
	}
	return nil
}

// Flush writes what waits.
func (w *HeadWriter) Flush(ctx context.Context) error {
	if len(w.heads) == 0 {
		return nil
	}
	a := w.agent
	if err := w.write(ctx, w.heads, w.artifacts); err != nil {
		return err
	}
	for _, h := range w.heads {
		h.Epoch = a.Config.Epoch
		a.Heads[h.SourceID] = h
	}
	w.heads, w.artifacts = nil, nil
	return nil
}
