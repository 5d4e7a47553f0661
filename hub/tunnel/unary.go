package tunnel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/unary"
	"github.com/axle-cd/axle/internal/wsconn"
)

// unarySince is the version of an agent's protocol from which on it accepts
// requests of one frame.
const unarySince = 3

// pendingRequests are the unanswered requests of one frame on a connection.
type pendingRequests struct {
	along *wsconn.Joined

	mu sync.Mutex
	// last is the number of the newest; waiting is nil once the connection
	// ended.
	last    uint32
	waiting map[uint32]chan said
}

// said is the answer to one of them.
type said struct {
	kind    unary.Kind
	content []byte
}

var errTunnelEnded = errors.New("the connection ended")

// receiveUnary lets a connection answer requests of one frame.
func receiveUnary(along *wsconn.Joined) *pendingRequests {
	a := &pendingRequests{along: along, waiting: map[uint32]chan said{}}
	along.Receive(unary.MaxFrame, a.came)
	return a
}

// came handles a frame of the agent. Frames that no request waits for are
// ignored.
func (a *pendingRequests) came(kind byte, payload []byte) {
	n, content, err := unary.Parse(payload)
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if to := a.waiting[n]; to != nil {
		delete(a.waiting, n)
		to <- said{unary.Kind(kind), content} // has room
	}
}

// end fails all waiting and later requests.
func (a *pendingRequests) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, to := range a.waiting {
		close(to)
	}
	a.waiting = nil
}

// begin adds a request.
func (a *pendingRequests) begin() (n uint32, answer chan said, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		return 0, nil, errTunnelEnded
	}
	a.last++
	answer = make(chan said, 1)
	a.waiting[a.last] = answer
	return a.last, answer, nil
}

// forget removes a request that is no longer waited for.
func (a *pendingRequests) forget(n uint32) {
	a.mu.Lock()
	_, waits := a.waiting[n]
	delete(a.waiting, n)
	a.mu.Unlock()
	if waits {
		// The connection may be gone, and the request with it.
		_ = a.along.Send(byte(unary.Cancel), unary.Frame(n, nil))
	}
}

// ask sends a head and waits. The answer is the same as a stream's.
func (a *pendingRequests) ask(ctx context.Context, via http.RoundTripper, head []byte) (*http.Response, error) {
	n, answer, err := a.begin()
	if err != nil {
		return nil, err
	}
	if err := a.along.Send(byte(unary.Ask), unary.Frame(n, head)); err != nil {
		a.forget(n)
		return nil, err
	}
	var got said
	var ok bool
	select {
	case got, ok = <-answer:
	case <-ctx.Done():
		a.forget(n)
		return nil, ctx.Err()
	}
	switch {
	case !ok:
		return nil, errTunnelEnded
	case got.kind == unary.Answer:
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(got.content))}, nil
	case got.kind == unary.Failed:
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Trailer: http.Header{failureTrailer: {string(got.content)}}}, nil
	case got.kind == unary.Continue:
		r := streamRequest(ctx, unary.Header, strconv.FormatUint(uint64(n), 10))
		return via.RoundTrip(r)
	}
	return nil, errcode.New(errcode.Unavailable, "the agent answered with a frame of the unknown kind %d", got.kind)
}

// unary returns the requests of one frame if the head can be sent in one frame,
// nil when it needs a stream.
func (c *connection) unary(head *agentv1.StreamHead) *pendingRequests {
	if !head.GetShortAnswer() {
		return nil
	}
	return c.pending
}
