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
	// headBatch is how many heads are written at once, and headWait how long finished
	// heads wait for others.
	headBatch = 200
	headWait  = time.Second
)

// LoadHeads reads Heads from the store.
func (a *Agent) LoadHeads(ctx context.Context) error {
	heads, err := a.Config.Rows.Heads(ctx, a.Config.RepositoryID)
	if err != nil {
		return err
	}
	clear(a.Heads)
	for _, h := range heads {
		a.Heads[h.SourceID] = h
	}
	return nil
}

// Produced completes the head of a source whose content was found in the last read.
func (a *Agent) Produced(h *record.Head) {
	h.Error, h.ErrorCode, h.ErrorSince = "", "", time.Time{}
	h.Epoch, h.FetchSeq, h.FetchedAt = a.Config.Epoch, a.fetchSeq, a.readAt
}

// Failed returns the head of a source that cannot be produced: it keeps its content
// and gets the error. It returns nil if the head has that error already.
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

// sameError compares the errors up to the first semicolon and ignores the hints
// behind it: a hint may list folders, and a new folder is irrelevant for a source that
// looks for another one.
func sameError(a, b string) bool {
	a, _, _ = strings.Cut(a, ";")
	b, _, _ = strings.Cut(b, ";")
	return a == b
}

// Unavailable returns the error of a source without content while upstream cannot be
// read. Its code is never Unprocessable, because the source itself may be correct.
func Unavailable(cause error) error {
	if errcode.Is(cause, errcode.Unprocessable) {
		return errcode.New(errcode.Unavailable, "%s", errcode.Message(cause))
	}
	return cause
}

// Refused adds a code to an error about the user's content.
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
	return a.Config.Results.WriteHeads(ctx, a.Config.RepositoryID, a.Config.Epoch, heads, artifacts)
}

// HeadWriter writes the heads of one evaluation in batches.
type HeadWriter struct {
	agent     *Agent
	write     func(context.Context, []record.Head, []record.Artifact) error
	began     time.Time // of the oldest head that waits
	heads     []record.Head
	artifacts []record.Artifact
}

// HeadWriter returns a writer that calls write for each batch; write must call Write.
func (a *Agent) HeadWriter(write func(context.Context, []record.Head, []record.Artifact) error) *HeadWriter {
	return &HeadWriter{agent: a, write: write}
}

// Add adds a head, with its artifact if that is new. After an error nothing of the
// batch is written.
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

// Flush writes the present batch.
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
