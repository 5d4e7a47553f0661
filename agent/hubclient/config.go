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
	// callTimeout bounds a call with all it reads, tarballs excepted. A hub
	// waits at most 2 s for its feed and 20 s in all.
	callTimeout = 30 * time.Second
	// defaultAttempts of one call; the caller's own loop comes back later.
	defaultAttempts = 3
	// maxListBody is about 100,000 services.
	maxListBody = 32 << 20
	// maxAnswer bounds an answer of a call: 500 specs with 64 KiB of values.
	maxAnswer = 64 << 20
	// maxErrorBody is what is read of a refusal.
	maxErrorBody = 16 << 10
	// keepIdle keeps a connection between two polls, also of slow pollers.
	keepIdle = 15 * time.Minute
)

// Config is what a Client needs.
type Config struct {
	// URL is the hub's origin, such as "https://axle.example.com".
	URL string
	// Transport may be shared by many clients; NewTransport makes one. It is
	// asked for one round trip at a time and follows no redirect.
	Transport http.RoundTripper
	// ClusterID is whose lists are taken; empty until Register answered.
	ClusterID string
	// Token is the deploy token.
	Token string
	// Keys are the pinned keys, by id. A client without keys takes no list.
	Keys map[string]ed25519.PublicKey
	// Former are keys that were pinned before. Only a list that was stored may
	// be signed by one: a list that does not change is not signed anew, and
	// must be good after a restart while the hub is away.
	Former map[string]ed25519.PublicKey
	// Seen is the highest position that was taken before a restart.
	Seen Position
	// Shown is the text of the Client's Proof then; empty when it had none.
	Shown string
	// Attempts bounds the tries of one call; 3 when zero.
	Attempts int
	// Clock is the real one when nil.
	Clock clock.Clock
}

// NewTransport makes a transport that keeps one connection, speaks HTTP/2 or
// 1.1 and trusts the system's authorities and those in caPEM, which may be
// nil. Errors are Invalid.
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
		// What the hub has to remember of our headers; a poll fits.
		HTTP2: &http.HTTP2Config{MaxEncoderHeaderTableSize: 512},
	}, nil
}

// origin checks the hub's URL. Plain HTTP carries tokens in the clear, so it
// is for a hub on the same machine alone.
func origin(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.User != nil {
		return nil, errcode.New(errcode.Invalid, "the hub's URL must look like https://host[:port], without user, path or query")
	}
	switch u.Scheme {
	case "https":
	case "http":
		if !loopback(u.Hostname()) {
			return nil, errcode.New(errcode.Invalid, "the hub's URL http://%s would send tokens in the clear; use https, plain http is for a hub on this machine", u.Host)
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
