package authproxy

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/kubereq"
)

const (
	// largeBody is the size from which a body gets its own connection: that is one
	// copy less at each end than in HTTP/2 frames.
	largeBody = 64 << 10
	// idleConnections are kept open for idleFor; the API server closes its end after
	// 90 s.
	idleConnections = 64
	idleFor         = 80 * time.Second
	// streamBuffer bounds the memory for one HTTP/2 stream while its reader is slow.
	streamBuffer = 256 << 10
	// transportBuffer is the maximum size of one read or write of a connection.
	transportBuffer = 32 << 10
	// upgradeBuffer is for a connection that is used once.
	upgradeBuffer = 2 << 10
	// handshakeLimit bounds the wait for a handshake.
	handshakeLimit = 10 * time.Second
)

// transports are the connections to the API server: kept connections of their own; streams
// that share one, for watches and short writes; and connections that change
// protocols. Reads use a connection of their own: HTTP/1.1 wakes half as many
// goroutines for a short answer and copies a long one less often, and a read on a
// connection that was closed meanwhile is repeated.
type transports struct {
	// read equals single if the API server is reached through a proxy.
	read, single, shared, upgrade http.RoundTripper
	idle                          []interface{ CloseIdleConnections() }
}

func newTransports(c *rest.Config, host string) (w transports, err error) {
	config, err := rest.TLSConfigFor(c)
	if err != nil {
		return w, fmt.Errorf("the API server's TLS: %w", err)
	}
	single, wrapped, err := newWay(c, config, false)
	if err != nil {
		return w, err
	}
	w.single, w.idle = wrapped, append(w.idle, single)
	if w.read, err = w.reads(c, config, host); err != nil {
		return w, err
	}
	if w.upgrade, err = upgradeWay(c, config, host); err != nil {
		return w, err
	}
	shared, wrapped, err := newWay(c, config, true)
	w.shared, w.idle = wrapped, append(w.idle, shared)
	return w, err
}

// reads is for requests that have no body and can be repeated.
func (w *transports) reads(c *rest.Config, config *tls.Config, host string) (http.RoundTripper, error) {
	if c.Proxy != nil {
		return w.single, nil
	}
	d := &direct{dialer: newDialer(c.Dial, config, host)}
	w.idle = append(w.idle, d)
	wrapped, err := rest.HTTPWrappersForConfig(c, d)
	if err != nil {
		return nil, fmt.Errorf("the agent's own credentials: %w", err)
	}
	return wrapped, nil
}

// upgradeWay is for connections that are used once.
func upgradeWay(c *rest.Config, config *tls.Config, host string) (http.RoundTripper, error) {
	if c.Proxy != nil {
		t, wrapped, err := newWay(c, config, false)
		if err == nil {
			// Raw bytes bypass the buffers, which only hold the two heads.
			t.ReadBufferSize, t.WriteBufferSize = upgradeBuffer, upgradeBuffer
		}
		return wrapped, err
	}
	wrapped, err := rest.HTTPWrappersForConfig(c, newUpgrader(c.Dial, config, host))
	if err != nil {
		return nil, fmt.Errorf("the agent's own credentials: %w", err)
	}
	return wrapped, nil
}

func newWay(c *rest.Config, config *tls.Config, shared bool) (*http.Transport, http.RoundTripper, error) {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(shared)
	t := &http.Transport{
		Proxy: c.Proxy, DialContext: c.Dial, Protocols: &protocols, DisableCompression: true,
		MaxIdleConns: idleConnections, MaxIdleConnsPerHost: idleConnections, IdleConnTimeout: idleFor, TLSHandshakeTimeout: handshakeLimit,
		ReadBufferSize: transportBuffer, WriteBufferSize: transportBuffer,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: streamBuffer, SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	if config != nil {
		t.TLSClientConfig = config.Clone()
		t.TLSClientConfig.NextProtos = nil
		t.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(idleConnections)
	}
	wrapped, err := rest.HTTPWrappersForConfig(c, t)
	if err != nil {
		return nil, nil, fmt.Errorf("the agent's own credentials: %w", err)
	}
	return t, wrapped, nil
}

// choose picks the connection by the expected amount of data.
func (w transports) choose(request *http.Request, info kubereq.Info) http.RoundTripper {
	if request.Header["Upgrade"] != nil {
		return w.upgrade
	}
	read := info.Verb == "get" || info.Verb == "list"
	switch {
	case read && request.ContentLength == 0:
		return w.read
	case read || request.ContentLength < 0 || request.ContentLength > largeBody || info.Connects():
		return w.single
	}
	return w.shared
}

func (w transports) close() {
	for _, one := range w.idle {
		one.CloseIdleConnections()
	}
}
