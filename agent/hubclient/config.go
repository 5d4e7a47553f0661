package hubclient

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// callTimeout bounds a call including its answer, except tarballs. A hub waits at
	// most 2 s for its feed and 20 s in all.
	callTimeout = 30 * time.Second
	// defaultAttempts is the number of tries per call; the caller's own loop retries
	// later.
	defaultAttempts = 3
	// maxListBody is enough for about 100,000 services.
	maxListBody = 32 << 20
	// maxAnswer bounds an answer of a call: 500 specs with 64 KiB of values.
	maxAnswer = 64 << 20
	// maxErrorBody bounds the body of an error answer.
	maxErrorBody = 16 << 10
	// keepIdle keeps a connection open between two polls, also at long intervals.
	keepIdle = 15 * time.Minute
)

// Config is what a Client needs.
type Config struct {
	// URL is the hub's origin, such as "https://axle.example.com".
	URL string
	// Transport may be shared by many clients; NewTransport makes one. The client
	// uses single round trips and follows no redirects.
	Transport http.RoundTripper
	// ClusterID is the cluster whose lists are accepted; empty until Register
	// answered.
	ClusterID string
	// Token is the deploy token.
	Token string
	// Keys are the pinned keys, by id. A client without keys accepts no list.
	Keys map[string]ed25519.PublicKey
	// Former are keys that were pinned before. Only a stored list may be signed by
	// one: an unchanged list is not signed again, and must be valid after a restart
	// while the hub is unavailable.
	Former map[string]ed25519.PublicKey
	// Seen is the highest position accepted before a restart.
	Seen Position
	// Shown is the Client's Proof at that time; empty if it had none.
	Shown string
	// Attempts bounds the tries of one call; 3 when zero.
	Attempts int
	// Clock is the real one when nil.
	Clock clock.Clock
}

// NewTransport makes a transport that keeps one connection, uses HTTP/2 or 1.1 and
// trusts the system's authorities and those in caPEM, which may be nil. Errors are
// Invalid.
func NewTransport(caPEM []byte) (*http.Transport, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(4)}
	if len(caPEM) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(caPEM) {
			return nil, errcode.New(errcode.Invalid, "the CA file holds no certificate in PEM form")
		}
		conf.RootCAs = pool
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       conf,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: callTimeout,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          2,
		MaxIdleConnsPerHost:   2,
		IdleConnTimeout:       keepIdle,
		DisableCompression:    true,
		ReadBufferSize:        4 << 10,
		WriteBufferSize:       4 << 10,
		// Bounds the header table that the hub keeps for us; the headers of a poll
		// fit.
		HTTP2: &http.HTTP2Config{MaxEncoderHeaderTableSize: 512},
	}, nil
}

// origin checks the hub's URL. Plain HTTP sends tokens unencrypted, so it is only for
// a hub on the same machine.
func origin(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.User != nil {
		return nil, errcode.New(errcode.Invalid, "the hub's URL must look like https://host[:port], without user, path or query")
	}
	switch u.Scheme {
	case "https":
	case "http":
		if !loopback(u.Hostname()) {
			return nil, errcode.New(errcode.Invalid, "the hub's URL http://%s would send tokens unencrypted; use https (plain http works only for a hub on this machine)", u.Host)
		}
	default:
		return nil, errcode.New(errcode.Invalid, "the hub's URL has scheme %.20q; use https", u.Scheme)
	}
	u.Path = "/"
	return u, nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
