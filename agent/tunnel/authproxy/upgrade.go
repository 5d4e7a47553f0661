package authproxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
)

// upgrader makes requests that change protocols, each on its own connection, which is
// used once: http.Transport would start four goroutines for one and pass data between
// them. It is an http.RoundTripper for requests without a body. The body of an answer
// that changes protocols is the connection after its head, an *afterHead.
type upgrader struct{ dialer }

// newUpgrader returns an upgrader that uses a cheaper key exchange if the API server
// is near.
func newUpgrader(dial dialFunc, config *tls.Config, host string) *upgrader {
	u := &upgrader{newDialer(dial, config, host)}
	if u.config != nil && near(host) {
		u.config.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP256}
	}
	return u
}

// near reports whether a host is an address that is not reachable from outside, such
// as that of a cluster's own service. Such a connection passes no network on which
// somebody could record it for a future quantum computer, and the key exchange
// against that costs more than the rest of a resumed handshake.
func near(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && (a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast())
}

// RoundTrip implements http.RoundTripper. The end of the request's context closes the
// connection, until it has changed protocols.
func (u *upgrader) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	conn, beneath, err := u.connect(r)
	if err != nil {
		return nil, err
	}
	c := &afterHead{Conn: conn, beneath: beneath}
	stop := context.AfterFunc(ctx, func() { beneath.Close() })
	response, err := c.ask(r)
	if err == nil && response.StatusCode != http.StatusSwitchingProtocols {
		response.Body = lastBody{response.Body, c, stop}
		return response, nil
	}
	if !stop() || err != nil {
		c.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	response.Body = c
	return response, nil
}

// prompt is a connection whose reads can be told not to wait.
type prompt struct {
	net.Conn
	// now is used only by the reader.
	now bool
}

// Read implements net.Conn. TLS continues after a deadline error.
func (p *prompt) Read(b []byte) (int, error) {
	if p.now {
		return 0, os.ErrDeadlineExceeded
	}
	return p.Conn.Read(b)
}

// CloseWrite closes one direction.
func (p *prompt) CloseWrite() error {
	if half, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// afterHead is a connection after the head of its answer.
type afterHead struct {
	// Conn is the connection, and beneath the one below its TLS.
	net.Conn
	beneath *prompt
	// ahead was read with the head.
	ahead *bufio.Reader
}

// ask sends a request and reads the head of its answer.
func (c *afterHead) ask(r *http.Request) (*http.Response, error) {
	if err := plain(r.Header); err != nil {
		return nil, err
	}
	// In one write.
	var request bytes.Buffer
	if err := r.Write(&request); err != nil {
		return nil, err
	}
	if _, err := c.Conn.Write(request.Bytes()); err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: c.Conn, N: maxAnswerHead}
	c.ahead = bufio.NewReaderSize(limited, upgradeBuffer)
	response, err := readAnswer(c.ahead, r)
	limited.N = math.MaxInt64
	return response, err
}

// Read reads what follows the head.
func (c *afterHead) Read(p []byte) (int, error) {
	if c.ahead != nil {
		if n := c.ahead.Buffered(); n > 0 {
			return c.ahead.Read(p[:min(n, len(p))])
		}
		c.ahead = nil
	}
	return c.Conn.Read(p)
}

// ReadNow implements relay.Prompt.
func (c *afterHead) ReadNow(p []byte) (int, error) {
	c.beneath.now = true
	n, err := c.Read(p)
	c.beneath.now = false
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	return n, err
}

// CloseWrite closes the direction to the API server.
func (c *afterHead) CloseWrite() error { return closeWrite(c.Conn) }

// lastBody is the body of an answer that did not change protocols. It ends with the
// request's context.
type lastBody struct {
	io.Reader
	conn io.Closer
	stop func() bool
}

// Close closes the connection, which carries nothing else. The body's own Close would
// read its rest.
func (b lastBody) Close() error {
	b.stop()
	return b.conn.Close()
}
