package wsconn

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // the WebSocket protocol says so; nothing rests on it
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// Accept turns a request into a connection. On an error, which is Invalid, nothing
// was written, so that the caller can still answer. protocol names the protocol
// inside.
func Accept(w http.ResponseWriter, r *http.Request, protocol string) (*Conn, error) {
	key := r.Header.Get("Sec-WebSocket-Key")
	raw, err := base64.StdEncoding.DecodeString(key)
	switch {
	case r.ProtoMajor != 1:
		return nil, errcode.New(errcode.Invalid, "a WebSocket requires HTTP/1.1, but this request uses %s; a proxy on the way must forward Upgrade unchanged", r.Proto)
	case r.Method != http.MethodGet || !names(r.Header, "Connection", "upgrade") || !names(r.Header, "Upgrade", "websocket"):
		return nil, errcode.New(errcode.Invalid, "this address requires a WebSocket, but the request has no Upgrade header; a proxy on the way must forward it (see the requirements of ingresses in the documentation)")
	case r.Header.Get("Sec-WebSocket-Version") != "13" || err != nil || len(raw) != 16:
		return nil, errcode.New(errcode.Invalid, "the request's WebSocket headers are not of version 13")
	}
	beneath, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, errcode.New(errcode.Internal, "take over the connection: %w", err)
	}
	answer := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accept(key) +
		"\r\nSec-WebSocket-Protocol: " + protocol + "\r\n\r\n"
	if _, err := io.WriteString(beneath, answer); err != nil {
		beneath.Close()
		return nil, errcode.New(errcode.Unavailable, "the client was gone: %w", err)
	}
	return newConn(beneath, unread(beneath, buffered.Reader), false), nil
}

// unread reads the rest of a buffer before the connection.
func unread(beneath io.Reader, buffer *bufio.Reader) io.Reader {
	n := buffer.Buffered()
	if n == 0 {
		return beneath
	}
	kept, err := buffer.Peek(n)
	if err != nil {
		return beneath
	}
	return io.MultiReader(bytes.NewReader(bytes.Clone(kept)), beneath)
}

// names reports whether a header's list contains a word, in any case.
func names(h http.Header, header, word string) bool {
	for _, line := range h.Values(header) {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(part), word) {
				return true
			}
		}
	}
	return false
}

func accept(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Dial sends the request, a GET, and takes the connection over if the answer switches
// to WebSocket. Any other answer is returned for the caller to read and close,
// without an error. The transport must use HTTP/1.1 only. ctx bounds the handshake.
func Dial(ctx context.Context, transport http.RoundTripper, r *http.Request, protocol string) (*Conn, *http.Response, error) {
	var beneath net.Conn
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { beneath = i.Conn }})
	var nonce [16]byte
	rand.Read(nonce[:])
	key := base64.StdEncoding.EncodeToString(nonce[:])
	r = r.Clone(ctx)
	for name, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key, "Sec-WebSocket-Protocol": protocol,
	} {
		r.Header.Set(name, value)
	}
	answer, err := transport.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		return nil, answer, nil
	}
	body, ok := answer.Body.(io.ReadWriteCloser)
	if !ok || beneath == nil {
		answer.Body.Close()
		return nil, nil, fmt.Errorf("%w: the transport gives no connection", ErrProtocol)
	}
	if answer.Header.Get("Sec-WebSocket-Accept") != accept(key) || answer.Header.Get("Sec-WebSocket-Protocol") != protocol {
		body.Close()
		return nil, nil, fmt.Errorf("%w: the answer's Sec-WebSocket-Accept does not match the request", ErrProtocol)
	}
	return newConn(beneath, body, true), answer, nil
}
