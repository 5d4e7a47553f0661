package authproxy

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubereq"
	"github.com/axle-cd/axle/internal/relay"
)

// relayBody sends the answer's body on. When nobody knows where it ends, each read
// leaves at once: a watch's event must not wait for the next one.
func relayBody(s Stream, response *http.Response) {
	var flush func() error
	if response.ContentLength < 0 {
		flush = s.Flush
	}
	if _, err := relay.Copy(s, response.Body, flush); err != nil && !errors.Is(err, relay.ErrWrite) {
		s.Fail(errcode.New(errcode.Unavailable, "the API server's answer broke off: %w", err))
	}
}

// join carries raw bytes both ways until the API server ends its side.
func (p *Proxy) join(ctx context.Context, s Stream, response *http.Response) {
	conn, ok := response.Body.(io.ReadWriteCloser)
	if !ok {
		p.refuse(ctx, s, errcode.New(errcode.Internal, "the API server changed protocols on a connection that cannot"))
		return
	}
	a := p.answer(response)
	protocol, err := kubereq.CheckUpgrade(response.Header.Get("Upgrade"))
	if err != nil {
		p.refuse(ctx, s, err)
		return
	}
	a.Upgrade = protocol
	if err := s.Answer(a); err != nil {
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
		s.Fail(errcode.New(errcode.Unavailable, "the API server's connection broke off: %w", err))
	}
}

// closeWrite ends one direction; the other goes on.
func closeWrite(conn io.Writer) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
