package tunnel

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/wsconn"
)

const (
	// Path is where the hub accepts tunnels.
	Path = "/agent/v1/tunnel"
	// protocol is the subprotocol of the WebSocket.
	protocol = "axle.tunnel.v1"
	// dialTimeout bounds a dial up to and including the upgrade.
	dialTimeout = 30 * time.Second
	// modeHeader says that the agent keeps no tunnel.
	modeHeader = "Axle-Tunnel"
	modeOff    = "off"
	// noTunnels is how long an agent waits if the hub does not support tunnels.
	noTunnels = 10 * time.Minute
)

// Dialer dials a hub.
type Dialer struct {
	// URL is the hub's origin.
	URL string
	// Transport comes from Transport.
	Transport http.RoundTripper
	// Authorization and Seen are headers as in the agent's other requests; Seen may
	// be nil.
	Authorization func() string
	Seen          func() string
	// Off tells the hub that this agent keeps no tunnel; Dial then returns no
	// connection and no error.
	Off bool
}

// Transport returns a copy that can open a WebSocket: HTTP/1.1 only, with the same
// authorities, client certificates and proxies.
func Transport(like *http.Transport) *http.Transport {
	t := like.Clone()
	t.ForceAttemptHTTP2 = false
	t.TLSNextProto = nil
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	if t.TLSClientConfig != nil {
		t.TLSClientConfig.NextProtos = []string{"http/1.1"}
	}
	t.ResponseHeaderTimeout = dialTimeout
	t.IdleConnTimeout = time.Second // only refusals leave a connection idle
	dial := t.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return wsconn.Gather(conn), nil
	}
	return t
}

// Dial makes one connection. Errors are Unauthorized if the hub does not accept the
// token, otherwise Unavailable, with RetryAfter if the hub gave one.
func (d *Dialer) Dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	u, err := url.Parse(d.URL)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the hub's URL: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath(Path).String(), nil)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "the hub's URL: %w", err)
	}
	r.Header.Set("Authorization", d.Authorization())
	r.Header.Set("User-Agent", "")
	if d.Seen != nil {
		if seen := d.Seen(); seen != "" {
			r.Header.Set("Axle-Seen", seen)
		}
	}
	if d.Off {
		r.Header.Set(modeHeader, modeOff)
	}
	conn, answer, err := wsconn.Dial(ctx, d.Transport, r, protocol)
	switch {
	case errors.Is(err, wsconn.ErrProtocol):
		return nil, errcode.New(errcode.Unavailable, "%w; a proxy or ingress between this agent and %s answers in the hub's place", err, u.Host)
	case err != nil:
		return nil, errcode.New(errcode.Unavailable, "the hub at %s cannot be reached for a tunnel: %w", u.Host, err)
	case conn == nil:
		defer answer.Body.Close()
		if d.Off && answer.StatusCode == http.StatusNoContent {
			return nil, nil
		}
		return nil, refused(answer, u.Host)
	}
	return conn, nil
}

// refused explains an answer that is not an upgrade.
func refused(answer *http.Response, host string) error {
	words, ours := hubWords(answer)
	after := time.Duration(0)
	if n, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && n > 0 {
		after = time.Duration(min(n, 3600)) * time.Second
	}
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized && ours:
		return errcode.New(errcode.Unauthorized, "the hub does not accept this agent's token: %s", words)
	case code == http.StatusProxyAuthRequired:
		return errcode.New(errcode.Unavailable, "the proxy on the way to %s requires a user and a password; put them into HTTPS_PROXY", host)
	case (code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable) && ours:
		return errcode.New(errcode.Unavailable, "the hub accepts no tunnels now: %s", words).After(max(after, time.Second))
	case code == http.StatusNotFound && ours:
		return errcode.New(errcode.Unavailable, "the hub at %s does not support tunnels; upgrade it", host).After(noTunnels)
	case ours:
		return errcode.New(errcode.Unavailable, "the hub refuses a tunnel: %s", words).After(after)
	}
	return errcode.New(errcode.Unavailable, "no WebSocket gets through to %s: the answer was HTTP %d, not a switch of protocols; let the proxy or ingress on the way pass Upgrade: websocket on", host, answer.StatusCode).After(after)
}

// hubWords returns the text of a hub's error.
func hubWords(r *http.Response) (text string, ours bool) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<10))
	if err != nil || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		return "", false
	}
	var problem struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &problem) != nil || problem.Code == "" {
		return "", false
	}
	return problem.Message, true
}
