package proxy_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/tunnel/authproxy"
	"github.com/axle-cd/axle/internal/errcode"
)

// pair is both ends of one stream within this process.
type pair struct {
	head     *agentv1.StreamHead
	up       *io.PipeReader
	upEnd    *io.PipeWriter
	down     *io.PipeReader
	downEnd  *io.PipeWriter
	answered chan *agentv1.StreamAnswer
	cancel   context.CancelFunc
}

func newPair(ctx context.Context, head *agentv1.StreamHead, serve func(context.Context, agentEnd)) hubEnd {
	p := &pair{head: head, answered: make(chan *agentv1.StreamAnswer, 1)}
	p.up, p.upEnd = io.Pipe()
	p.down, p.downEnd = io.Pipe()
	ctx, p.cancel = context.WithCancel(ctx)
	go func() {
		defer p.cancel()
		stop := context.AfterFunc(ctx, func() { p.up.CloseWithError(ctx.Err()); p.down.CloseWithError(ctx.Err()) })
		serve(ctx, agentEnd{p})
		stop()
		p.downEnd.Close()
		p.up.CloseWithError(io.ErrClosedPipe)
		close(p.answered)
	}()
	return hubEnd{p}
}

type hubEnd struct{ *pair }

func (h hubEnd) Read(b []byte) (int, error)  { return h.down.Read(b) }
func (h hubEnd) Write(b []byte) (int, error) { return h.upEnd.Write(b) }
func (h hubEnd) CloseWrite() error           { return h.upEnd.Close() }
func (h hubEnd) Close() error                { h.cancel(); return nil }
func (h hubEnd) Answer(ctx context.Context) (*agentv1.StreamAnswer, error) {
	select {
	case a, ok := <-h.answered:
		if !ok {
			return nil, errcode.New(errcode.Unavailable, "the agent said nothing")
		}
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type agentEnd struct{ *pair }

func (a agentEnd) Head() *agentv1.StreamHead   { return a.head }
func (a agentEnd) Read(b []byte) (int, error)  { return a.up.Read(b) }
func (a agentEnd) Write(b []byte) (int, error) { return a.downEnd.Write(b) }
func (a agentEnd) Flush() error                { return nil }
func (a agentEnd) Fail(why error)              { a.downEnd.CloseWithError(why) }
func (a agentEnd) Answer(s *agentv1.StreamAnswer) error {
	a.answered <- s
	return nil
}

// Begin implements the agent's half; nothing is saved within one process.
func (a agentEnd) Begin(s *agentv1.StreamAnswer) error { return a.Answer(s) }

// recorder is a plain answer.
type recorder struct {
	header http.Header
	code   int
}

func newRecorder() *recorder                    { return &recorder{header: http.Header{}} }
func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(p []byte) (int, error) { return len(p), nil }
func (r *recorder) WriteHeader(code int)        { r.code = code }

// bareProxy is a hub's half that reaches no cluster.
func bareProxy(t *testing.T) *authproxy.Proxy {
	t.Helper()
	p, err := authproxy.New(authproxy.Config{
		Open: func(context.Context, string, *agentv1.StreamHead) (authproxy.Stream, error) {
			t.Error("a stream was opened")
			return nil, errcode.New(errcode.Unavailable, "nobody is here")
		},
		Identity: &people{}, Audit: &records{}, Sealer: newSealer(t), UseNonce: func(context.Context, []byte, int64, int64) error { return nil },
		Cluster: func(context.Context, string) (authproxy.Cluster, error) { return authproxy.Cluster{ID: "cls_1"}, nil },
		Now:     func(string) (c authproxy.Cluster, known bool) { return c, false },
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
