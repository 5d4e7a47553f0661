package telemetry

import (
	"context"
	"errors"
	"io"

	"github.com/axle-cd/axle/internal/errcode"
)

// Late is the error of a store that took longer than Limit.
func Late(store string, follows bool) error {
	if follows {
		return errcode.New(errcode.Unavailable, "the tail of %s ends after %s: begin again to go on", store, FollowFor)
	}
	return errcode.New(errcode.Unavailable, "%s did not answer within %s; ask for less or a shorter time, or see whether it is overloaded", store, Within)
}

// Ended is the reason for which a request ended with an error: that of the context's cause, such
// as a right that was taken away, before that of the connection.
func Ended(ctx context.Context, err error, store string, follows bool) error {
	var why *errcode.Error
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Late(store, follows)
	case errors.As(context.Cause(ctx), &why):
		return why
	}
	return err
}

// Bounded is the body of a store's answer, whose request ends with ctx and end. It fails after
// MaxAnswer bytes, unless it follows, so that half an answer is not taken for a whole one.
func Bounded(ctx context.Context, body io.ReadCloser, store string, follows bool, end func()) io.ReadCloser {
	b := &bounded{ReadCloser: body, ctx: ctx, store: store, follows: follows, end: end, left: MaxAnswer}
	if follows {
		b.left = 1 << 62
	}
	return b
}

type bounded struct {
	io.ReadCloser
	ctx     context.Context
	store   string
	follows bool
	end     func()
	left    int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errcode.New(errcode.Unprocessable, "the answer of %s is larger than %d MiB: ask for fewer series or lines, or a shorter time", b.store, MaxAnswer>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err != nil && err != io.EOF {
		err = Ended(b.ctx, err, b.store, b.follows)
	}
	return n, err
}

// Close ends the request.
func (b *bounded) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
