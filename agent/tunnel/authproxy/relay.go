package authproxy

import (
	"context"
	"errors"
	"io"
	"net/http"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
	"github.com/axle-cd/axle/internal/relay"
)

// relayBody forwards the answer's body. If its length is unknown, each read leaves at
// once: a watch's event must not wait for the next one.
func relayBody(s Stream, response *http.Response, short bool) {
	var flush func() error
	if response.ContentLength < 0 && !short {
		flush = s.Flush
	}
	if _, err := relay.Copy(s, response.Body, flush); err != nil && !errors.Is(err, relay.ErrWrite) {
		s.Fail(errcode.New(errcode.Unavailable, "the API server's answer was interrupted: %w", err))
	}
}

// join copies raw bytes in both directions until the API server ends its side.
func (p *Proxy) join(ctx context.Context, s Stream, response *http.Response, a *agentv1.StreamAnswer) {
	conn, ok := response.Body.(io.ReadWriteCloser)
	if !ok {
		p.refuse(ctx, s, errcode.New(errcode.Internal, "the API server changed protocols on a connection that cannot"))
		return
	}
	protocol, err := kubereq.CheckUpgrade(response.Header.Get("Upgrade"))
	if err != nil {
		p.refuse(ctx, s, err)
		return
	}
	a.Upgrade = protocol
	if err := p.begin(s, a, conn); err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	go func() {
		// Ends with the stream at the latest, which ends when join returns.
		if _, err := relay.Copy(conn, s, nil); err != nil || closeWrite(conn) != nil {
			conn.Close()
		}
	}()
	if _, err := relay.Copy(s, conn, s.Flush); err != nil && !errors.Is(err, relay.ErrWrite) {
		s.Fail(errcode.New(errcode.Unavailable, "the API server's connection was interrupted: %w", err))
	}
}

// begin sends the answer's head, together with bytes that the API server sent right
// after its own.
func (p *Proxy) begin(s Stream, a *agentv1.StreamAnswer, from io.Reader) error {
	if err := s.Begin(a); err != nil {
		return err
	}
	if source, ok := from.(relay.Prompt); ok {
		var first [firstBytes]byte
		// The next reader gets the same error again.
		if n, _ := source.ReadNow(first[:]); n > 0 {
			if _, err := s.Write(first[:n]); err != nil {
				return err
			}
		}
	}
	return s.Flush()
}

// firstBytes is the most that leaves with the answer's head.
const firstBytes = 512

// closeWrite closes one direction; the other stays open.
func closeWrite(conn io.Writer) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
