package authproxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// maxAnswerHead bounds the head of an answer.
	maxAnswerHead = 1 << 20
	// maxInterim is how many 1xx answers may precede the final one.
	maxInterim = 5
)

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// dialer makes connections to the API server for code that writes HTTP/1.1 itself.
type dialer struct {
	dial dialFunc
	// config is nil if the API server does not use TLS.
	config *tls.Config
}

func newDialer(dial dialFunc, config *tls.Config, host string) dialer {
	d := dialer{dial: dial}
	if d.dial == nil {
		d.dial = (&net.Dialer{}).DialContext
	}
	if config == nil {
		return d
	}
	d.config = config.Clone()
	d.config.NextProtos = []string{"http/1.1"}
	d.config.ClientSessionCache = tls.NewLRUClientSessionCache(idleConnections)
	if d.config.ServerName == "" {
		d.config.ServerName = host
	}
	return d
}

// connect returns a connection to a request's host, after the handshake, and the
// connection below its TLS.
func (d dialer) connect(r *http.Request) (net.Conn, *prompt, error) {
	port := r.URL.Port()
	if port == "" {
		port = "80"
		if r.URL.Scheme == "https" {
			port = "443"
		}
	}
	dialled, err := d.dial(r.Context(), "tcp", net.JoinHostPort(r.URL.Hostname(), port))
	if err != nil {
		return nil, nil, err
	}
	beneath := &prompt{Conn: dialled}
	if d.config == nil || r.URL.Scheme != "https" {
		return beneath, beneath, nil
	}
	conn := tls.Client(beneath, d.config)
	if err = conn.SetDeadline(time.Now().Add(handshakeLimit)); err == nil {
		err = conn.HandshakeContext(r.Context())
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		beneath.Close()
		return nil, nil, err
	}
	return conn, beneath, nil
}

// readAnswer reads the head of the final answer.
func readAnswer(from *bufio.Reader, r *http.Request) (*http.Response, error) {
	for range maxInterim {
		response, err := http.ReadResponse(from, r)
		if err != nil {
			return nil, err
		}
		if response.StatusCode == http.StatusSwitchingProtocols || response.StatusCode >= http.StatusOK {
			return response, nil
		}
	}
	return nil, fmt.Errorf("the API server sent %d interim answers and no final one", maxInterim)
}

// plain rejects headers that would be more than one line.
func plain(h http.Header) error {
	for name, values := range h {
		if !token(name) {
			return errcode.New(errcode.Invalid, "%.40q is not a valid header name", name)
		}
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return errcode.New(errcode.Invalid, "the value of header %.40q has a control character", name)
			}
		}
	}
	return nil
}

// hostOf returns a URL's host without its port.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}
