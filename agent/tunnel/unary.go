package tunnel

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/frame"
	"github.com/axle-cd/axle/internal/growstack"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/unary"
)

// continueWithin is how long a long answer waits for the stream that continues it.
const continueWithin = 30 * time.Second

// asked are a connection's one-frame requests that have not been answered.
type asked struct {
	mu    sync.Mutex
	all   map[uint32]*answering
	ended bool
}

// receiveUnary serves a frame of the hub. It does not block.
func (l *link) receiveUnary(kind byte, payload []byte) {
	n, content, err := unary.Parse(payload)
	if err != nil {
		return
	}
	switch unary.Kind(kind) {
	case unary.Ask:
		l.begin(n, content)
	case unary.Cancel:
		if a := l.asked.of(n); a != nil {
			a.cancel()
		}
	}
}

// begin serves a one-frame request, unless the connection ended or there are too
// many.
func (l *link) begin(n uint32, head []byte) {
	a := &answering{link: l, number: n, header: http.Header{}}
	l.asked.mu.Lock()
	defer l.asked.mu.Unlock()
	switch {
	case l.asked.ended || l.asked.all[n] != nil:
		return
	case len(l.asked.all) >= maxStreams:
		// Not in the connection's reader: sending may block.
		l.serving.Go(func() {
			a.fail(errcode.New(errcode.Exhausted, "this agent already serves %d requests, which is the limit", maxStreams))
		})
		return
	}
	a.ctx, a.cancel = context.WithCancel(l.ctx)
	if l.asked.all == nil {
		l.asked.all = map[uint32]*answering{}
	}
	l.asked.all[n] = a
	l.serving.Go(func() { a.serve(head) })
}

// end allows no further request to begin.
func (s *asked) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

func (s *asked) of(n uint32) *answering {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[n]
}

func (s *asked) remove(n uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, n)
}

// answering is a one-frame request being served. It is the writer of its Stream: an
// answer that fits goes into one frame, a longer one continues in a stream that the
// hub then opens.
type answering struct {
	link   *link
	number uint32
	ctx    context.Context
	cancel context.CancelFunc
	header http.Header
	buffer bytes.Buffer

	// long receives the stream's writer once the hub opened it, and over is closed
	// when the answer is complete; both are nil while one frame may be enough.
	mu   sync.Mutex
	long chan http.ResponseWriter
	over chan struct{}
	to   http.ResponseWriter
}

func (a *answering) serve(head []byte) {
	growstack.Grow()
	defer a.cancel()
	defer a.link.asked.remove(a.number)
	defer a.recovered()
	s := &Stream{head: &agentv1.StreamHead{}, request: noBody, writer: a, flusher: http.NewResponseController(a)}
	if err := frame.ReadMax(bytes.NewReader(head), s.head, maxHead); err != nil {
		a.fail(errcode.New(errcode.Invalid, "cannot read the head of the request"))
		return
	}
	a.link.answer(a.ctx, s)
	if a.over != nil {
		a.finish()
		return
	}
	if why := a.header.Get(http.TrailerPrefix + failureTrailer); why != "" {
		a.send(unary.Failed, []byte(why))
		return
	}
	a.send(unary.Answer, a.buffer.Bytes())
}

// recovered limits a panic to its request, as net/http does for streams.
func (a *answering) recovered() {
	why := recover()
	if why == nil {
		return
	}
	a.link.t.config.Log.Error("a request of the hub made the agent panic", logkey.Error, why, "stack", string(debug.Stack()))
	if a.over != nil {
		a.header.Set(http.TrailerPrefix+failureTrailer, "the agent gave no answer")
		a.finish()
		return
	}
	a.fail(errcode.New(errcode.Internal, "the agent gave no answer"))
}

// finish lets the stream of the answer end.
func (a *answering) finish() {
	if a.to != nil {
		// The trailers belong to the stream.
		maps.Copy(a.to.Header(), a.header)
	}
	close(a.over)
}

// noBody is the request of a stream that has none.
var noBody = &http.Request{Body: http.NoBody}

func (a *answering) fail(why error) { a.send(unary.Failed, []byte(errcode.Message(why))) }

// send sends the final frame. A closed connection needs none.
func (a *answering) send(kind unary.Kind, content []byte) {
	_ = a.link.joined.Send(byte(kind), unary.Frame(a.number, content))
}

// Header implements http.ResponseWriter.
func (a *answering) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter; the real status is in the answer's
// head.
func (a *answering) WriteHeader(int) {}

// Write implements http.ResponseWriter.
func (a *answering) Write(p []byte) (int, error) {
	if a.over == nil && a.buffer.Len()+len(p) <= unary.MaxAnswer {
		return a.buffer.Write(p)
	}
	if err := a.goOn(); err != nil {
		return 0, err
	}
	return a.to.Write(p)
}

// FlushError lets an http.ResponseController flush: data must leave now, before the
// answer is complete.
func (a *answering) FlushError() error {
	if err := a.goOn(); err != nil {
		return err
	}
	return http.NewResponseController(a.to).Flush()
}

var errGivenUp = errors.New("the hub gave the request up")

// goOn waits for the stream that continues the answer.
func (a *answering) goOn() error {
	if a.to != nil {
		return nil
	}
	if a.over != nil {
		return errGivenUp
	}
	a.mu.Lock()
	a.long, a.over = make(chan http.ResponseWriter), make(chan struct{})
	a.mu.Unlock()
	a.send(unary.Continue, nil)
	select {
	case a.to = <-a.long:
	case <-a.link.t.config.Clock.After(continueWithin):
		return errGivenUp
	case <-a.ctx.Done():
		return errGivenUp
	}
	_, err := a.to.Write(a.buffer.Bytes())
	a.buffer = bytes.Buffer{}
	return err
}

// goesOn serves the stream that continues a request of one frame.
func (l *link) goesOn(w http.ResponseWriter, r *http.Request, number string) {
	n, err := strconv.ParseUint(number, 10, 32)
	var a *answering
	if err == nil {
		a = l.asked.of(uint32(n))
	}
	if a == nil {
		http.Error(w, "there is nothing to continue here", http.StatusNotFound)
		return
	}
	a.mu.Lock()
	long, over := a.long, a.over
	a.mu.Unlock()
	defer a.cancel()
	select {
	case long <- w:
	case <-r.Context().Done():
		return
	case <-a.ctx.Done():
		return
	}
	select {
	case <-over:
	case <-r.Context().Done():
		// The answer's writer must not be used once this returns.
		a.cancel()
		<-over
	}
}
