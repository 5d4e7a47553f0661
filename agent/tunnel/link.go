package tunnel

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/api/agent/v1/agentv1connect"
	"github.com/axle-cd/axle/internal/boundedcall"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/growstack"
	"github.com/axle-cd/axle/internal/jitter"
	"github.com/axle-cd/axle/internal/unary"
	"github.com/axle-cd/axle/internal/wsconn"
)

// Flow control of both ends. Go lets a connection's window be as large as one
// stream's, so that one stream without a reader stops all others. With these values,
// maxStreams of them leave room for another.
const (
	streamWindow     = 256 << 10
	connectionWindow = 128 << 20
	// maxStreams is above the 450 that the hub opens at most, to leave room for
	// control.
	maxStreams = 480
	// frameBytes is the largest frame that the hub may send: it keeps a buffer of
	// that size for each upload.
	frameBytes = 16 << 10
)

// link is one served connection.
type link struct {
	t      *Tunnel
	conn   *wsconn.Ending
	joined *wsconn.Joined
	asked  asked
	done   <-chan struct{} // closed when the connection is closed
	// greeted is closed by the hello; leave receives the spread of a go-away.
	greeted chan struct{}
	leave   chan time.Duration
	greet   sync.Once
	serving sync.WaitGroup
	ctx     context.Context
}

func newLink(t *Tunnel, conn net.Conn) *link {
	joined := wsconn.Join(conn, false)
	end := wsconn.NewEnding(joined)
	l := &link{t: t, conn: end, joined: joined, done: end.Done(), greeted: make(chan struct{}), leave: make(chan time.Duration, 1)}
	joined.Receive(unary.MaxFrame, l.receiveUnary)
	return l
}

func (l *link) close() { _ = l.conn.Close() }

// serve serves the connection until it or ctx ends, and returns when everything of it
// has stopped.
func (l *link) serve(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.ctx = ctx
	stop := context.AfterFunc(ctx, l.close)
	defer stop()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	_, calls := agentv1connect.NewTunnelServiceHandler(l, boundedcall.Handler(maxHead))
	control := boundedcall.Serve(calls, maxHead)
	srv := &http.Server{
		Protocols: &protocols,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == streamPath && r.Method == http.MethodPost {
				l.stream(w, r)
				return
			}
			control.ServeHTTP(w, r)
		}),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReadFrameSize: frameBytes,
			MaxReceiveBufferPerStream: streamWindow, MaxReceiveBufferPerConnection: connectionWindow,
			SendPingTimeout: l.t.config.PingAfter, PingTimeout: l.t.config.AnswerWithin,
		},
		MaxHeaderBytes: maxHead,
		ErrorLog:       slog.NewLogLogger(l.t.config.Log.Handler(), slog.LevelDebug),
	}
	// It ends with the listener, which has only this connection.
	_ = srv.Serve(l.conn.Listener())
	<-l.done
	cancel()
	_ = srv.Close()
	l.asked.end()
	l.serving.Wait()
	select {
	case <-l.greeted:
		l.t.changed(-1, "")
	default:
	}
}

// Control implements agentv1.TunnelService.
func (l *link) Control(_ context.Context, r *connect.Request[agentv1.ControlRequest]) (*connect.Response[agentv1.ControlResponse], error) {
	answer := &agentv1.ControlResponse{}
	switch m := r.Msg.GetMessage().(type) {
	case *agentv1.ControlRequest_Hello:
		l.greet.Do(func() {
			l.t.changed(1, m.Hello.GetReplica())
			close(l.greeted)
		})
		answer.Message = &agentv1.ControlResponse_Hello{Hello: &agentv1.TunnelHello{ProtocolVersion: protocolVersion, Version: l.t.config.Version, Proxy: l.t.config.Proxy}}
	case *agentv1.ControlRequest_Ping:
		answer.Message = &agentv1.ControlResponse_Ping{Ping: &agentv1.TunnelPing{Number: m.Ping.GetNumber(), Answer: true}}
	case *agentv1.ControlRequest_Hint:
		l.hint(m.Hint)
	case *agentv1.ControlRequest_GoAway:
		l.goAway(m.GoAway)
	}
	return connect.NewResponse(answer), nil
}

// protocolVersion is the version of the protocol in the connection: from 2 on the
// head of a request without a body may be in a header, from 3 on such a request may
// be one frame, from 4 on the agent itself answers questions about readiness, from 5 on
// about credentials of clusters that it makes, from 6 on about metrics, logs and alerts.
const protocolVersion = 6

// maxSpread bounds how long a hub may ask an agent to wait.
const maxSpread = 10 * time.Minute

func spread(micros int64) time.Duration {
	return min(max(0, time.Duration(micros)*time.Microsecond), maxSpread)
}

func (l *link) hint(h *agentv1.TunnelHint) {
	wait := spread(h.GetSpreadMicros())
	if wait == 0 {
		l.t.config.Hint(h)
		return
	}
	l.serving.Go(func() {
		select {
		case <-l.t.config.Clock.After(jitter.Full(wait)):
			l.t.config.Hint(h)
		case <-l.ctx.Done():
		}
	})
}

// goAway allows the next connection to be dialled. The hub closes this one after its
// streams ended; if it does not, the agent does.
func (l *link) goAway(g *agentv1.TunnelGoAway) {
	select {
	case l.leave <- spread(g.GetSpreadMicros()):
	default:
		return // already requested
	}
	l.serving.Go(func() {
		select {
		case <-l.t.config.Clock.After(l.t.config.Grace + time.Minute):
			l.close()
		case <-l.done:
		}
	})
}

// stream serves one stream.
func (l *link) stream(w http.ResponseWriter, r *http.Request) {
	growstack.Grow()
	l.serving.Add(1)
	defer l.serving.Done()
	if number := r.Header.Get(unary.Header); number != "" {
		l.goesOn(w, r, number)
		return
	}
	s := &Stream{head: &agentv1.StreamHead{}, request: r, writer: w, flusher: http.NewResponseController(w)}
	if err := s.readHead(); err != nil {
		http.Error(w, "cannot read the stream's head", http.StatusBadRequest)
		return
	}
	l.answer(r.Context(), s)
	if s.answered {
		// Nobody reads the rest of the request.
		_ = r.Body.Close()
	}
}

// answer has a stream served.
func (l *link) answer(ctx context.Context, s *Stream) {
	l.t.mu.Lock()
	l.t.status.Streams++
	l.t.mu.Unlock()
	switch {
	case l.t.config.Streams == nil:
		s.Fail(errcode.New(errcode.Forbidden, "this agent allows no access to its cluster"))
	case s.head.GetIdentity().GetUser() == "":
		s.Fail(errcode.New(errcode.Invalid, "the stream names no user"))
	default:
		l.t.config.Streams.ServeStream(ctx, s)
	}
	if !s.answered && s.writer.Header().Get(http.TrailerPrefix+failureTrailer) == "" {
		s.Fail(errcode.New(errcode.Internal, "the agent gave no answer"))
	}
}

var _ io.ReadWriter = (*Stream)(nil)
