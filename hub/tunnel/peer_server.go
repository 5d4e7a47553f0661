package tunnel

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/frame"
	"github.com/axle-cd/axle/internal/routes"
	"github.com/axle-cd/axle/internal/wsconn"
)

const (
	// nonceLife is how long a signature may be used: peer allows clocks to
	// differ by a minute either way.
	nonceLife = 2 * time.Minute
	// maxState limits a replica's message about its tunnels.
	maxState = 4 << 20
	// copyBytes is the size of the copy buffer.
	copyBytes = 32 << 10
)

// peerServer answers other replicas.
type peerServer struct {
	t       *Tunnels
	serving sync.WaitGroup

	mu    sync.Mutex
	seen  map[string]time.Time // nonces
	conns map[net.Conn]bool
}

// PeerRoutes adds the routes that other replicas call; verify admits only
// signed calls.
func (t *Tunnels) PeerRoutes(mux routes.Adder, verify func(http.Handler) http.Handler) {
	mux.Handle("POST "+statePath, verify(http.HandlerFunc(t.peers.server.state)))
	mux.Handle("GET "+linkPath, verify(http.HandlerFunc(t.peers.server.link)))
}

func (s *peerServer) state(w http.ResponseWriter, r *http.Request) {
	var said told
	if err := bounded.ReadJSON(r.Body, &said, maxState); err != nil {
		refuse(w, errcode.New(errcode.Invalid, "the request cannot be read: %w", err))
		return
	}
	s.t.peers.take(peer.Caller(r.Context()), said)
	w.WriteHeader(http.StatusNoContent)
}

// link takes over a connection and serves streams over it.
func (s *peerServer) link(w http.ResponseWriter, r *http.Request) {
	conn, err := wsconn.Accept(w, r, protocol)
	if err != nil {
		refuse(w, err)
		return
	}
	s.mu.Lock()
	if s.conns == nil {
		s.conns = map[net.Conn]bool{}
	}
	s.conns[conn] = true
	s.mu.Unlock()
	s.serving.Go(func() { s.serve(conn) })
}

func (s *peerServer) serve(conn net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+streamPath, s.stream)
	srv := &http.Server{
		Handler: mux, Protocols: &protocols, ErrorLog: slog.NewLogLogger(s.t.config.Log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: perLink + 50, MaxReadFrameSize: frameBytes,
			MaxReceiveBufferPerStream: streamWindow, MaxReceiveBufferPerConnection: connectionWindow,
			SendPingTimeout: s.t.config.PingAfter, PingTimeout: s.t.config.AnswerWithin,
		},
	}
	// It ends when the connection does.
	_ = srv.Serve(wsconn.NewEnding(conn).Listener())
	_ = srv.Close()
}

func (s *peerServer) close() {
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.serving.Wait()
}

// fresh accepts a nonce, once.
func (s *peerServer) fresh(nonce string) bool {
	now := s.t.config.PeerClock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, used := s.seen[nonce]; used || nonce == "" {
		return false
	}
	if len(s.seen) > 4096 {
		for n, at := range s.seen {
			if now.Sub(at) > nonceLife {
				delete(s.seen, n)
			}
		}
	}
	s.seen[nonce] = now
	return true
}

// stream forwards a stream of another replica to the tunnel here.
func (s *peerServer) stream(w http.ResponseWriter, r *http.Request) {
	flow, err := s.accept(r)
	if err != nil {
		code := errcode.Of(err)
		w.Header().Set(codeHeader, string(code))
		http.Error(w, errcode.Message(err), errcode.HTTPStatus(code))
		return
	}
	defer flow.close()
	out := http.NewResponseController(w)
	// The headers say that the tunnel is here; the cluster may answer later.
	w.WriteHeader(http.StatusOK)
	if out.Flush() != nil {
		return
	}
	s.serving.Go(func() {
		if flow.body == nil {
			return
		}
		_, err := io.Copy(writerOf(flow), r.Body)
		if err == nil {
			_ = flow.closeWrite()
		} else {
			flow.cancel(errcode.Hide(errcode.Unavailable, err, "the other replica broke off"))
		}
	})
	if err := s.answer(flow, w, out); err != nil {
		w.Header().Set(http.TrailerPrefix+failureTrailer, errcode.Message(err))
	}
}

// accept reads and checks the head, and starts the stream here.
func (s *peerServer) accept(r *http.Request) (*flow, error) {
	head := &agentv1.StreamHead{}
	var raw bytes.Buffer
	if err := frame.ReadMax(io.TeeReader(r.Body, &raw), head, maxHead); err != nil {
		return nil, errcode.New(errcode.Invalid, "the stream's head cannot be read: %w", err)
	}
	if _, err := peer.VerifyPart(s.t.config.PeerKey, s.t.config.PeerClock.Now(), r, raw.Bytes()); err != nil {
		return nil, err
	}
	if !s.fresh(r.URL.Query().Get("nonce")) {
		return nil, errcode.New(errcode.Unauthorized, "this call was already made")
	}
	id := r.URL.Query().Get("cluster")
	f, err := s.t.open(r.Context(), id, head)
	if f == nil && err == nil {
		err = errcode.New(errcode.NotFound, "cluster %s has no tunnel here", id)
	}
	return f, err
}

// answer copies the answer back. Errors are sent in the trailer.
func (s *peerServer) answer(f *flow, w http.ResponseWriter, out *http.ResponseController) error {
	a, err := f.answer(f.ctx)
	if err != nil {
		return err
	}
	if err := frame.Write(w, a); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	buf := copyBuffers.Get().(*[copyBytes]byte)
	defer copyBuffers.Put(buf)
	for {
		n, err := f.read(buf[:])
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return werr
			}
			if werr := out.Flush(); werr != nil {
				return werr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

var copyBuffers = sync.Pool{New: func() any { return new([copyBytes]byte) }}

type flowWriter struct{ *flow }

func writerOf(f *flow) io.Writer { return flowWriter{f} }

// Write implements io.Writer.
func (w flowWriter) Write(p []byte) (int, error) { return w.write(p) }
