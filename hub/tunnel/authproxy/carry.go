package authproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/tunnel"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logkey"
	"github.com/axle-cd/axle/internal/relay"
)

// handshakeLimit bounds writing the head of an upgraded answer.
const handshakeLimit = 10 * time.Second

// carry takes an admitted request to its cluster and the answer back. It
// returns an error only while nothing was answered; what breaks off later cuts
// the connection, so that nobody takes half an answer for a whole one.
func (p *Proxy) carry(w http.ResponseWriter, r *http.Request, a *asked) (err error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	t, err := p.begin(ctx, a)
	if err != nil {
		return err
	}
	defer func() { t.end(ctx, err) }()
	stream, err := p.openTo(ctx, a)
	if err != nil {
		return err
	}
	defer stream.Close()
	l := &live{tokenID: a.caller.TokenID, cluster: a.cluster, until: a.until, cancel: cancel}
	p.streams.add(l)
	defer p.streams.remove(l)
	if a.head.GetUpgrade() != "" {
		return p.upgraded(ctx, w, a, stream, l, t)
	}
	upload := sendBody(r, w, stream, t)
	defer upload.stop()
	answer, err := stream.Answer(ctx)
	if err != nil {
		return reasonOf(ctx, err)
	}
	return p.reply(ctx, w, a, answer, stream, l, t)
}

// openTo begins the stream. Who hears that there is no tunnel knows the cluster by
// its name.
func (p *Proxy) openTo(ctx context.Context, a *asked) (Stream, error) {
	stream, err := p.Open(ctx, a.cluster.ID, a.head)
	if errors.Is(err, tunnel.ErrNone) {
		return nil, errcode.New(errcode.Unavailable, "cluster %[1]s has no tunnel to this hub now; axle clusters get %[1]s shows since when, and axle-agent doctor, run where its agent runs, what keeps it down", a.cluster.Name).After(errcode.RetryAfter(err))
	}
	return stream, err
}

// reasonOf is why a stream was given up, when that is known better.
func reasonOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// reply hands an answer's head and body to the client.
func (p *Proxy) reply(ctx context.Context, w http.ResponseWriter, a *asked, answer *agentv1.StreamAnswer, stream Stream, l *live, t *trail) error {
	if s := answer.GetStatus(); s < 200 || s > 599 {
		return errcode.New(errcode.Unavailable, "the cluster's agent answered with status %d, which is none", s)
	}
	a.setHeaders(w.Header(), answer)
	t.status = int(answer.GetStatus())
	control := http.NewResponseController(w)
	// A deadline in the past unblocks a write that waits; a connection that
	// knows none is cut by its own end.
	l.setCut(func() { _ = control.SetWriteDeadline(time.Unix(1, 0)) })
	w.WriteHeader(t.status)
	var flush func() error
	if w.Header().Get("Content-Length") == "" {
		flush = control.Flush
		if err := flush(); err != nil {
			p.broken(ctx, a, t, err)
		}
	}
	n, err := relay.Copy(meter{pieces{w}, l, &p.streams.now}, stream, flush)
	t.down.Add(n)
	if err != nil {
		p.broken(ctx, a, t, err)
	}
	return nil
}

// pieceBytes is what fills one record of TLS together with the head of its frame
// of HTTP/2. Most clients take frames of 16 KiB, which are a record and another
// one for the last 9 bytes, each with a system call.
const pieceBytes = 16<<10 - 9

// pieces writes at most pieceBytes at once.
type pieces struct{ to io.Writer }

// Write implements io.Writer.
func (w pieces) Write(p []byte) (n int, err error) {
	for first := true; first || len(p) > 0; first = false {
		wrote, err := w.to.Write(p[:min(len(p), pieceBytes)])
		n += wrote
		if err != nil {
			return n, err
		}
		p = p[wrote:]
	}
	return n, nil
}

// broken ends a connection whose answer has begun, after the record of it.
func (p *Proxy) broken(ctx context.Context, a *asked, t *trail, err error) {
	err = reasonOf(ctx, err)
	p.log(ctx, a, err)
	t.end(ctx, err)
	panic(http.ErrAbortHandler)
}

func (p *Proxy) log(ctx context.Context, a *asked, err error) {
	p.Log.LogAttrs(ctx, slog.LevelDebug, "a request to a cluster broke off", slog.String("request", a.head.GetRequestId()),
		slog.String(logkey.Cluster, a.cluster.Name), slog.String(logkey.User, a.caller.Name), slog.Any(logkey.Error, err))
}

// upload is a request's body on its way.
type upload struct {
	done    chan struct{}
	ended   atomic.Bool
	control *http.ResponseController
	stream  Stream
}

// sendBody sends the body beside the answer: an API server may answer before
// it has all.
func sendBody(r *http.Request, w http.ResponseWriter, stream Stream, t *trail) *upload {
	u := &upload{done: make(chan struct{}), control: http.NewResponseController(w), stream: stream}
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		// A stream that is broken already says so when it answers.
		_ = stream.CloseWrite()
		u.ended.Store(true)
		close(u.done)
		return u
	}
	// HTTP/2 always can; HTTP/1.1 must be told.
	_ = u.control.EnableFullDuplex()
	go func() {
		defer close(u.done)
		n, err := relay.Copy(stream, r.Body, nil)
		t.up.Add(n)
		switch {
		case err == nil:
			u.ended.Store(true)
			_ = stream.CloseWrite()
		case !errors.Is(err, relay.ErrWrite):
			// Half a body must not look like a whole one.
			u.ended.Store(true)
			stream.Close()
		}
	}()
	return u
}

// stop waits for the end of the upload, which it brings about: a read that
// waits for the client would hold the handler's end up.
func (u *upload) stop() {
	if !u.ended.Load() {
		u.stream.Close()
		_ = u.control.SetReadDeadline(time.Unix(1, 0))
	}
	<-u.done
}

// upgraded waits for the cluster to change protocols and then joins the two
// connections.
func (p *Proxy) upgraded(ctx context.Context, w http.ResponseWriter, a *asked, stream Stream, l *live, t *trail) error {
	answer, err := stream.Answer(ctx)
	if err != nil {
		return reasonOf(ctx, err)
	}
	if answer.GetStatus() != http.StatusSwitchingProtocols {
		_ = stream.CloseWrite()
		return p.reply(ctx, w, a, answer, stream, l, t)
	}
	if answer.GetUpgrade() != a.head.GetUpgrade() {
		return errcode.New(errcode.Unavailable, "the cluster changed to %.40q, which nobody asked for", answer.GetUpgrade())
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return errcode.New(errcode.Invalid, "this connection cannot be upgraded: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { hurry(conn) })()
	// The server's own deadlines were for the head alone.
	_ = conn.SetDeadline(time.Time{})
	t.status = http.StatusSwitchingProtocols
	word := newFarewell(a.head.GetUpgrade(), answer)
	first := firstOf(stream)
	if word != nil {
		word.came(first)
	}
	if err := a.writeSwitch(conn, w.Header(), answer, first); err != nil {
		t.end(ctx, err)
		return nil
	}
	t.down.Add(int64(len(first)))
	// What the server read ahead comes first, then the connection itself: the
	// server's reader would end the request, and with it the answer, at the end
	// of what the client sends.
	ahead, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	if err := p.join(ctx, conn, io.MultiReader(bytes.NewReader(ahead), conn), stream, word, l, t); err != nil {
		err = reasonOf(ctx, err)
		p.log(ctx, a, err)
		t.end(ctx, err)
		return nil
	}
	if cause := reasonOf(ctx, nil); cause != nil {
		t.end(ctx, cause)
	}
	return nil
}

// firstBytes is the most that goes to the client together with the head.
const firstBytes = 1 << 10

// firstOf is what the cluster said right behind its answer.
func firstOf(stream Stream) []byte {
	source, ok := stream.(relay.Prompt)
	if !ok {
		return nil
	}
	first := make([]byte, firstBytes)
	// An error is met again by who reads on.
	n, _ := source.ReadNow(first)
	return first[:n]
}

// writeSwitch writes the head of the answer by hand, and what came behind it.
func (a *asked) writeSwitch(conn net.Conn, h http.Header, answer *agentv1.StreamAnswer, first []byte) error {
	a.setHeaders(h, answer)
	h.Del("Content-Length")
	h.Set("Connection", "Upgrade")
	h.Set("Upgrade", answer.GetUpgrade())
	if err := conn.SetWriteDeadline(time.Now().Add(handshakeLimit)); err != nil {
		return err
	}
	// In one piece: each write of a header's name and value alone would be a
	// record of TLS and a packet.
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	if err := h.Write(&head); err != nil {
		return err
	}
	head.WriteString("\r\n")
	head.Write(first)
	if _, err := conn.Write(head.Bytes()); err != nil {
		return err
	}
	return conn.SetWriteDeadline(time.Time{})
}

// join carries raw bytes both ways until the cluster's side ends. The client's
// end of its own direction is carried, and the other goes on. word, unless nil,
// tells a client whose way was cut.
func (p *Proxy) join(ctx context.Context, conn net.Conn, from io.Reader, stream Stream, word farewell, l *live, t *trail) error {
	l.setCut(func() { hurry(conn) })
	var to io.Reader = stream
	if word != nil {
		from, to = watched{from, word.sent}, watched{to, word.came}
	}
	sent := make(chan struct{})
	var left atomic.Bool
	go func() {
		defer close(sent)
		n, err := relay.Copy(stream, from, nil)
		t.up.Add(n)
		switch {
		case err == nil:
			// A stream that is broken says so to its reader.
			_ = stream.CloseWrite()
		case !errors.Is(err, relay.ErrWrite):
			left.Store(ctx.Err() == nil)
			stream.Close()
		}
		// A cluster that takes no more may still have something to say.
	}()
	n, err := relay.Copy(meter{conn, l, &p.streams.now}, to, nil)
	t.down.Add(n)
	gone := left.Load() || errors.Is(err, relay.ErrWrite)
	if err != nil && !gone && word != nil {
		sayTo(conn, word.say(cutOff(ctx, l.cluster, err)))
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok && err == nil {
		// The client may have gone first.
		_ = half.CloseWrite()
	}
	stream.Close()
	conn.Close()
	<-sent
	// A client that goes once it has what it wants ended nothing too early.
	if err != nil && !gone {
		return fmt.Errorf("after %d bytes: %w", n, err)
	}
	return nil
}
