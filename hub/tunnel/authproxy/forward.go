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

// handshakeLimit limits writing the head of an upgraded answer.
const handshakeLimit = 10 * time.Second

// forward sends an admitted request to its cluster and the answer back. It
// returns an error only while nothing was answered; a later failure cuts the
// connection, so that a client does not take half an answer for a complete one.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, a *parsedRequest) (err error) {
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
	l := a.live(cancel)
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

// openTo opens the stream. Its error for a missing tunnel names the cluster.
func (p *Proxy) openTo(ctx context.Context, a *parsedRequest) (Stream, error) {
	stream, err := p.config.Open(ctx, a.cluster.ID, a.head)
	if errors.Is(err, tunnel.ErrNone) {
		return nil, errcode.New(errcode.Unavailable, "cluster %s %s", a.cluster.Name, a.cluster.away()).After(errcode.RetryAfter(err))
	}
	return stream, err
}

// reasonOf returns the more specific reason why a stream was closed, if there
// is one.
func reasonOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// reply writes an answer's head and body to the client.
func (p *Proxy) reply(ctx context.Context, w http.ResponseWriter, a *parsedRequest, answer *agentv1.StreamAnswer, stream Stream, l *live, t *auditTrail) error {
	if s := answer.GetStatus(); s < 200 || s > 599 {
		return errcode.New(errcode.Unavailable, "the cluster's agent answered with the invalid status %d", s)
	}
	if err := a.setHeaders(w.Header(), answer); err != nil {
		return err
	}
	t.status = int(answer.GetStatus())
	control := http.NewResponseController(w)
	// A deadline in the past unblocks a waiting write; a connection without
	// deadlines is cut when it ends.
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

// pieceBytes fills one TLS record together with the head of its HTTP/2 frame.
// Most clients accept frames of 16 KiB, which are a record and another one for
// the last 9 bytes, each with a system call.
const pieceBytes = 16<<10 - 9

// pieces writes at most pieceBytes at a time.
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

// broken ends a connection whose answer has begun, after its record was
// written.
func (p *Proxy) broken(ctx context.Context, a *parsedRequest, t *auditTrail, err error) {
	err = reasonOf(ctx, err)
	p.log(ctx, a, err)
	t.end(ctx, err)
	panic(http.ErrAbortHandler)
}

func (p *Proxy) log(ctx context.Context, a *parsedRequest, err error) {
	p.config.Log.LogAttrs(ctx, slog.LevelDebug, "a request to a cluster broke off", slog.String("request", a.head.GetRequestId()),
		slog.String(logkey.Cluster, a.cluster.Name), slog.String(logkey.User, a.caller.Name), slog.Any(logkey.Error, err))
}

// upload sends a request's body.
type upload struct {
	done    chan struct{}
	ended   atomic.Bool
	control *http.ResponseController
	stream  Stream
}

// sendBody sends the body in parallel to the answer: an API server may answer
// before it has read everything.
func sendBody(r *http.Request, w http.ResponseWriter, stream Stream, t *auditTrail) *upload {
	u := &upload{done: make(chan struct{}), control: http.NewResponseController(w), stream: stream}
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		// A broken stream reports its error with the answer.
		_ = stream.CloseWrite()
		u.ended.Store(true)
		close(u.done)
		return u
	}
	// HTTP/2 is always full duplex; HTTP/1.1 must enable it.
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
			// Half a body must not look like a complete one.
			u.ended.Store(true)
			stream.Close()
		}
	}()
	return u
}

// stop ends the upload and waits for it: a read that waits for the client would
// delay the handler's end.
func (u *upload) stop() {
	if !u.ended.Load() {
		u.stream.Close()
		_ = u.control.SetReadDeadline(time.Unix(1, 0))
	}
	<-u.done
}

// upgraded waits until the cluster switches protocols and then joins the two
// connections.
func (p *Proxy) upgraded(ctx context.Context, w http.ResponseWriter, a *parsedRequest, stream Stream, l *live, t *auditTrail) error {
	answer, err := stream.Answer(ctx)
	if err != nil {
		return reasonOf(ctx, err)
	}
	if answer.GetStatus() != http.StatusSwitchingProtocols {
		_ = stream.CloseWrite()
		return p.reply(ctx, w, a, answer, stream, l, t)
	}
	if answer.GetUpgrade() != a.head.GetUpgrade() {
		return errcode.New(errcode.Unavailable, "the cluster switched to the protocol %.40q, which was not requested", answer.GetUpgrade())
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return errcode.New(errcode.Invalid, "this connection cannot be upgraded: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { hurry(conn) })()
	// The server's own deadlines apply only to the head.
	_ = conn.SetDeadline(time.Time{})
	t.status = http.StatusSwitchingProtocols
	word := newTerminator(a.head.GetUpgrade(), answer)
	first := firstOf(stream)
	if word != nil {
		word.came(first)
	}
	if err := a.writeSwitch(conn, w.Header(), answer, first); err != nil {
		t.end(ctx, err)
		return nil
	}
	t.down.Add(int64(len(first)))
	// Read first what the server read ahead, then the connection itself: the
	// server's reader would end the request, and with it the answer, at the end
	// of the client's data.
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

// firstBytes is the most that is sent to the client together with the head.
const firstBytes = 1 << 10

// firstOf returns what the cluster sent directly after its answer.
func firstOf(stream Stream) []byte {
	source, ok := stream.(relay.Prompt)
	if !ok {
		return nil
	}
	first := make([]byte, firstBytes)
	// The next read returns the same error.
	n, _ := source.ReadNow(first)
	return first[:n]
}

// writeSwitch writes the head of the answer itself, and the bytes that came
// after it.
func (a *parsedRequest) writeSwitch(conn net.Conn, h http.Header, answer *agentv1.StreamAnswer, first []byte) error {
	if err := a.setHeaders(h, answer); err != nil {
		return err
	}
	h.Del("Content-Length")
	h.Set("Connection", "Upgrade")
	h.Set("Upgrade", answer.GetUpgrade())
	if err := conn.SetWriteDeadline(time.Now().Add(handshakeLimit)); err != nil {
		return err
	}
	// Write it in one piece: separate writes of each header's name and value
	// would each be a TLS record and a packet.
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

// join copies raw bytes in both directions until the cluster's side ends. When
// the client ends its direction, that is passed on, and the other direction
// continues. word, unless nil, tells a client that its connection was cut.
func (p *Proxy) join(ctx context.Context, conn net.Conn, from io.Reader, stream Stream, word terminator, l *live, t *auditTrail) error {
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
			// The reader of a broken stream gets the error.
			_ = stream.CloseWrite()
		case !errors.Is(err, relay.ErrWrite):
			left.Store(ctx.Err() == nil)
			stream.Close()
		}
		// A cluster that has stopped reading may still send.
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
	// A client that leaves once it has what it wants ended nothing too early. With the
	// result of a command there, its connection may break in either direction first.
	if err != nil && !gone && (word == nil || !word.ended()) {
		return fmt.Errorf("after %d bytes: %w", n, err)
	}
	return nil
}
