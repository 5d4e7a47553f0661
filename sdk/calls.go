package sdk

import (
	"context"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/position"
)

const (
	seenHeader     = "Axle-Seen"
	positionHeader = "Axle-Position"
	// retries is how often a call to an unavailable hub is repeated.
	retries = 4
)

// calls is the interceptor of every call.
type calls struct {
	token, agent, url string

	mu   sync.Mutex
	seen position.Position
}

// WrapUnary adds headers, deadline, retries and error texts.
func (c *calls) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if _, ok := ctx.Deadline(); !ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, callTimeout)
			defer cancel()
		}
		backoff := jitter.Backoff{Min: 200 * time.Millisecond, Max: 3 * time.Second}
		for {
			c.head(request.Header())
			response, err := next(ctx, request)
			if err == nil {
				c.note(response.Header().Get(positionHeader))
				return response, nil
			}
			// Only if the hub itself answered, the call certainly had no effect.
			again := connect.IsWireError(err) && connect.CodeOf(err) == connect.CodeUnavailable && backoff.Attempts() < retries
			if !again || jitter.Wait(ctx, 100*time.Millisecond+backoff.Next()) != nil {
				return nil, Error(err, c.url)
			}
		}
	}
}

func (c *calls) head(header http.Header) {
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	if c.agent != "" {
		header.Set("User-Agent", c.agent)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen != (position.Position{}) {
		header.Set(seenHeader, c.seen.String())
	}
}

// note records the highest position. An invalid one is ignored: a proxy's header must
// not fail a successful call.
func (c *calls) note(text string) {
	at, err := position.Parse(text)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen.Before(at) {
		c.seen = at
	}
}

// WrapStreamingClient implements connect.Interceptor: a stream starts like any call,
// and is not retried.
func (c *calls) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		c.head(conn.RequestHeader())
		return conn
	}
}

// WrapStreamingHandler is never called in a client.
func (c *calls) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// IsNotFound reports whether a call found nothing under the name.
func IsNotFound(err error) bool { return errcode.Is(err, errcode.NotFound) }
