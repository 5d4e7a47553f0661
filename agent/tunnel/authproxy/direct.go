package authproxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"time"
)

// direct makes HTTP/1.1 reads on kept connections, each used by one request at a
// time, whose goroutine writes and reads itself. http.Transport has two more
// goroutines for each connection, and passing a short answer between them costs more
// than reading it. It is an http.RoundTripper for requests that have no body and can
// be repeated.
type direct struct {
	dialer

	mu   sync.Mutex
	idle []*kept // the last used one at the end
	// sweeping is set while there may be idle connections.
	sweeping *time.Timer
	closed   bool
}

// kept is a connection that serves one request after the other.
type kept struct {
	net.Conn
	beneath net.Conn
	limit   io.LimitedReader
	ahead   *bufio.Reader
	since   time.Time // start of the idle time
}

// requestBuffers are for the heads of requests.
var requestBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// RoundTrip implements http.RoundTripper. The end of the request's context
// closes its connection, until its answer's body was read.
func (d *direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := plain(r.Header); err != nil {
		return nil, err
	}
	if c := d.take(); c != nil {
		response, began, err := d.on(c, r)
		if err == nil || began || r.Context().Err() != nil {
			return response, err
		}
		// The API server closed it meanwhile, without reading anything.
	}
	c, err := d.open(r)
	if err != nil {
		return nil, err
	}
	response, _, err := d.on(c, r)
	return response, err
}

// on makes a request on a connection. began reports whether any part of an answer
// arrived.
func (d *direct) on(c *kept, r *http.Request) (_ *http.Response, began bool, err error) {
	ctx := r.Context()
	stop := context.AfterFunc(ctx, func() { c.beneath.Close() })
	response, began, err := c.ask(r)
	if err != nil {
		stop()
		c.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, began, err
	}
	response.Body = &keptBody{ReadCloser: response.Body, of: d, conn: c, stop: stop, whole: response.Body == http.NoBody, last: response.Close}
	return response, true, nil
}

func (c *kept) ask(r *http.Request) (_ *http.Response, began bool, err error) {
	request := requestBuffers.Get().(*bytes.Buffer)
	defer requestBuffers.Put(request)
	request.Reset()
	if err := r.Write(request); err != nil {
		return nil, true, err
	}
	if _, err := c.Write(request.Bytes()); err != nil {
		return nil, false, err
	}
	c.limit.N = maxAnswerHead
	if _, err := c.ahead.Peek(1); err != nil {
		return nil, false, err
	}
	response, err := readAnswer(c.ahead, r)
	c.limit.N = math.MaxInt64
	return response, true, err
}

func (d *direct) open(r *http.Request) (*kept, error) {
	conn, beneath, err := d.connect(r)
	if err != nil {
		return nil, err
	}
	c := &kept{Conn: conn, beneath: beneath, limit: io.LimitedReader{R: conn}}
	c.ahead = bufio.NewReaderSize(&c.limit, keptBuffer)
	return c, nil
}

// keptBuffer is for heads and short answers; larger reads bypass it.
const keptBuffer = 4 << 10

// take returns the last used connection, nil if there is none.
func (d *direct) take() *kept {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.idle)
	if n == 0 {
		return nil
	}
	c := d.idle[n-1]
	d.idle[n-1], d.idle = nil, d.idle[:n-1]
	return c
}

// keep returns a connection to the idle ones.
func (d *direct) keep(c *kept) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || len(d.idle) >= idleConnections {
		c.Close()
		return
	}
	c.since = time.Now()
	d.idle = append(d.idle, c)
	if d.sweeping == nil {
		d.sweeping = time.AfterFunc(idleFor, d.sweep)
	}
}

// sweep closes connections that were idle for long.
func (d *direct) sweep() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.idle) > 0 && time.Since(d.idle[0].since) >= idleFor {
		d.idle[0].Close()
		d.idle = d.idle[1:]
	}
	if d.sweeping = nil; len(d.idle) > 0 {
		d.sweeping = time.AfterFunc(idleFor-time.Since(d.idle[0].since), d.sweep)
	}
}

// CloseIdleConnections closes idle connections, now and later.
func (d *direct) CloseIdleConnections() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, c := range d.idle {
		c.Close()
	}
	d.idle = nil
}

// keptBody is the body of an answer. Once it was read to its end, its connection
// serves another request.
type keptBody struct {
	io.ReadCloser
	of          *direct
	conn        *kept
	stop        func() bool
	whole, last bool
}

// Read implements io.Reader.
func (b *keptBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.whole = true
	}
	return n, err
}

// Close returns the connection, or closes it if the body was not read.
func (b *keptBody) Close() error {
	if !b.stop() || !b.whole || b.last || b.conn.ahead.Buffered() > 0 {
		return b.conn.Close()
	}
	b.of.keep(b.conn)
	return nil
}
