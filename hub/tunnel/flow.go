package tunnel

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/frame"
	"github.com/axle-cd/axle/internal/pool"
)

const (
	// streamPath is the path for opening streams at the other end.
	streamPath = "/stream"
	// maxHead limits a head: that of a request of a megabyte, as API servers take it.
	maxHead = 1<<20 + 64<<10
	// failureTrailer carries why an answer ended early.
	failureTrailer = "Axle-Failure"
	// headHeader carries the head of a request without a body.
	headHeader = "Axle-Head"
	// maxInline is the longest head that is sent in headHeader.
	maxInline = 8 << 10
)

var (
	streamURL = &url.URL{Scheme: "http", Host: "tunnel", Path: streamPath}
	// noAgent suppresses the User-Agent of Go's client.
	noAgent = []string{""}
)

var (
	errClosed  = errcode.New(errcode.Unavailable, "the request was given up")
	errStalled = errcode.New(errcode.Unavailable, "the client read nothing for 30 s while an answer waited, so the request was closed")
)

// flow is one stream over a connection, to the agent or to another replica.
type flow struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	// over is the context that ctx was derived from.
	over  context.Context
	clock clock.Clock
	// conn is nil at a replica that forwards.
	conn *connection
	// held are the places that the stream has until it ends.
	held []*pool.Held
	// to names the other end in errors.
	to      string
	doubted bool // guarded by Tunnels.mu

	body *io.PipeWriter // nil when the request has none
	// ahead is what arrived of the answer's body together with its head; only
	// upgrades use it.
	ahead   []byte
	upgrade bool
	begun   time.Time
	// came is closed when response or broken is set.
	came     chan struct{}
	response *http.Response
	broken   error
	answered atomic.Bool
	// given is since when the caller has bytes that it has not finished with,
	// in nanoseconds since 1970; 0 while it waits for more.
	given atomic.Int64
	// send makes the request in the goroutine that waits for the answer; nil
	// when another goroutine makes it.
	send func()
	// leave removes the flow from the counted ones, shut closes the answer's
	// body: both at the latest when the context ends. shut is set once came is
	// closed.
	leave, shut *afterwards
}

// newFlow creates a stream that is not started.
func newFlow(ctx context.Context, c clock.Clock, to string, conn *connection) *flow {
	f := &flow{over: ctx, clock: c, conn: conn, to: to, came: make(chan struct{}), begun: c.Now()}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	return f
}

// hasBody reports whether bytes follow the head.
func hasBody(h *agentv1.StreamHead) bool { return h.GetContentLength() != 0 || h.GetUpgrade() != "" }

// encode returns a head as a frame.
func encode(m proto.Message) ([]byte, error) {
	buf, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, 4, 512), m)
	if err != nil || len(buf)-4 > maxHead {
		return nil, errcode.New(errcode.Invalid, "the request's headers are too long")
	}
	binary.BigEndian.PutUint32(buf, uint32(len(buf)-4))
	return buf, nil
}

// begin sends the head over a connection, with a body after it if more is set.
// Errors come with the answer.
func (f *flow) begin(via http.RoundTripper, uri string, header http.Header, head []byte, more bool) {
	var body io.Reader = bytes.NewReader(head)
	length := int64(len(head))
	if more {
		r, w := io.Pipe()
		f.body, length = w, -1
		body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(body, r), r}
		context.AfterFunc(f.ctx, func() { r.CloseWithError(context.Cause(f.ctx)) })
	}
	r, err := http.NewRequestWithContext(f.ctx, http.MethodPost, host+uri, body)
	if err != nil {
		f.ended(nil, err)
		return
	}
	r.ContentLength = length
	r.Header = header
	go func() { f.ended(via.RoundTrip(r)) }()
}

// prepare is begin for a request without a body, over a connection whose other
// end accepts heads in headers: one frame. It is sent when the answer is
// requested, so that no other goroutine must wait for it. With pending, a short
// answer is one frame too.
func (f *flow) prepare(via http.RoundTripper, head []byte, pending *pendingRequests) {
	if pending != nil {
		f.send = func() { f.ended(pending.ask(f.ctx, via, head)) }
		return
	}
	r := streamRequest(f.ctx, headHeader, base64.RawStdEncoding.EncodeToString(head))
	f.send = func() { f.ended(via.RoundTrip(r)) }
}

// streamRequest starts a stream with one header.
func streamRequest(ctx context.Context, name, value string) *http.Request {
	return (&http.Request{
		Method: http.MethodPost, URL: streamURL, Host: streamURL.Host, Proto: "HTTP/2.0", ProtoMajor: 2,
		Header: http.Header{name: {value}, "User-Agent": noAgent},
	}).WithContext(ctx)
}

func (f *flow) ended(r *http.Response, err error) {
	if f.response = r; err != nil {
		f.broken = f.explain(err)
	} else {
		f.shut = after(f.ctx, func() { r.Body.Close() })
	}
	close(f.came)
}

// close ends the flow. It does here, where possible, what would follow the end
// of its context, so that no goroutines are needed.
func (f *flow) close() {
	f.leave.now()
	f.cancel(errClosed)
	select {
	case <-f.came:
		f.shut.now()
	default:
	}
}

// afterwards is a function that runs once after the end of a context.
type afterwards struct {
	do   func()
	stop func() bool
}

func after(ctx context.Context, do func()) *afterwards {
	return &afterwards{do, context.AfterFunc(ctx, do)}
}

// now runs the function, unless it already runs.
func (a *afterwards) now() {
	if a != nil && a.stop() {
		a.do()
	}
}

// explain returns what broke, or why the stream was closed.
func (f *flow) explain(err error) error {
	if cause := context.Cause(f.ctx); cause != nil {
		if errors.Is(cause, errClosed) || errors.Is(cause, errStalled) {
			return cause
		}
		return errcode.Hide(errcode.Unavailable, cause, "the request to %s was given up: %v", f.to, cause)
	}
	return errcode.Hide(errcode.Unavailable, err, "the tunnel to %s broke off; try again", f.to)
}

func (f *flow) write(p []byte) (int, error) {
	if f.body == nil {
		return 0, errcode.New(errcode.Internal, "a request without a body was written to")
	}
	n, err := f.body.Write(p)
	if err != nil {
		err = f.explain(err)
	}
	return n, err
}

func (f *flow) closeWrite() error {
	if f.body == nil {
		return nil
	}
	return f.body.Close()
}

func (f *flow) answer(ctx context.Context) (*agentv1.StreamAnswer, error) {
	if f.send != nil {
		if ctx != f.over {
			defer context.AfterFunc(ctx, func() { f.cancel(context.Cause(ctx)) })()
		}
		f.send()
	}
	select {
	case <-f.came:
	case <-ctx.Done():
		return nil, errcode.Hide(errcode.Unavailable, ctx.Err(), "%s gave no answer in time", f.to)
	}
	if f.broken != nil {
		return nil, f.broken
	}
	if err := refusedBy(f.response); err != nil {
		return nil, err
	}
	a := &agentv1.StreamAnswer{}
	var from io.Reader = f.response.Body
	var buffered *bufio.Reader
	if f.upgrade {
		buffered = bufio.NewReaderSize(from, aheadBytes)
		from = buffered
	}
	if err := frame.ReadMax(from, a, maxHead); err != nil {
		if errors.Is(err, io.EOF) {
			err = cmp.Or(f.failure(), error(errcode.New(errcode.Unavailable, "%s gave no answer", f.to)))
			return nil, err
		}
		return nil, f.explain(err)
	}
	f.answered.Store(true)
	if buffered != nil {
		// This many bytes are buffered; it cannot fail.
		f.ahead, _ = buffered.Peek(buffered.Buffered())
	}
	return a, nil
}

// aheadBytes is how much of an answer is read at once while its head is
// awaited.
const aheadBytes = 1 << 10

// failure returns why the other end broke off, nil when it did not.
func (f *flow) failure() error {
	if why := f.response.Trailer.Get(failureTrailer); why != "" {
		return errcode.New(errcode.Unavailable, "%s", why)
	}
	return nil
}

func (f *flow) read(p []byte) (int, error) {
	f.given.Store(0)
	if n := f.readNow(p); n > 0 {
		return n, nil
	}
	n, err := f.response.Body.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		if why := f.failure(); why != nil {
			err = why
		}
	case err != nil:
		err = f.explain(err)
	case n > 0:
		f.given.Store(f.clock.Now().UnixNano())
	}
	return n, err
}

// readNow returns what arrived together with the answer's head.
func (f *flow) readNow(p []byte) int {
	n := copy(p, f.ahead)
	f.ahead = f.ahead[n:]
	if len(f.ahead) == 0 {
		f.ahead = nil // release its buffer
	}
	if n > 0 {
		f.given.Store(f.clock.Now().UnixNano())
	}
	return n
}

// stalledFor returns how long the caller has not finished with its bytes.
func (f *flow) stalledFor(now time.Time) time.Duration {
	if at := f.given.Load(); at != 0 {
		return time.Duration(now.UnixNano() - at)
	}
	return 0
}

// waitsFor returns how long an answer has been awaited.
func (f *flow) waitsFor(now time.Time) time.Duration {
	select {
	case <-f.came:
		return 0
	default:
		return now.Sub(f.begun)
	}
}

// The other end sends the code of a refusal in the status and in this header.
const codeHeader = "Axle-Code"

// refusedBy returns the error of an answer that is not a stream.
func refusedBy(r *http.Response) error {
	if r.StatusCode == http.StatusOK {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, 4<<10))
	if err != nil || len(text) == 0 {
		text = fmt.Appendf(nil, "the other end of the tunnel answered HTTP %d", r.StatusCode)
	}
	code := cmp.Or(errcode.Code(r.Header.Get(codeHeader)), errcode.Unavailable)
	refusal := errcode.New(code, "%s", bytes.TrimSpace(text))
	if code == errcode.Exhausted {
		return refusal.After(retryExhausted)
	}
	return refusal
}
