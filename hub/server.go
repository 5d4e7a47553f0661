package hub

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/axle-cd/axle/hub/certificate"
	"github.com/axle-cd/axle/hub/tunnel/authproxy"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/smallframes"
)

const (
	// readHeaderTimeout limits how long a client may take to send its headers;
	// agents need one packet.
	readHeaderTimeout = 10 * time.Second
	// idleTimeout keeps the connections of agents that poll every 2 min, with
	// tolerance for a slow one.
	idleTimeout = 6 * time.Minute
	// headerTable limits the HPACK table for the headers of answers; one answer
	// to an agent's poll fits. The usual 4 KiB at both ends cost 9 KiB of
	// memory for each connection, and 1 KiB still costs 4 with its index, and
	// ten thousand agents keep one connection each. The table for clients'
	// headers keeps its 4 KiB, because clients may use them until they receive
	// our settings: a client that sends several requests at once would be cut
	// off. Agents limit their own tables.
	headerTable = 512
	// drainTimeout is how long requests in flight get when the hub stops;
	// together with the rest of the stop it is below 10 s.
	drainTimeout = 7 * time.Second
)

// listen opens the address and creates the TLS configuration, if any.
func (c Config) listen(ctx context.Context) (net.Listener, *tls.Config, error) {
	l, err := listenTCP(ctx, "--listen", c.Listen)
	if err != nil {
		return nil, nil, err
	}
	config, err := c.tlsConfig(l.Addr())
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, config, nil
}

func listenTCP(ctx context.Context, flag, address string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, errcode.New(errcode.Conflict, "cannot listen on %s: %w; choose another address with %s", address, err, flag)
	}
	return l, nil
}

// tlsConfig returns nil for plain HTTP.
func (c Config) tlsConfig(addr net.Addr) (*tls.Config, error) {
	var source certificate.Source
	var err error
	switch {
	case c.TLSCert != "":
		source, err = certificate.Files(c.TLSCert, c.TLSKey, c.Clock)
	case c.DevCA:
		source, err = certificate.Own(c.DataDir, c.ownHosts(addr), c.Clock)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: source, NextProtos: []string{"h2", "http/1.1"}}, nil
}

// ownHosts returns the hosts for the hub's own certificate.
func (c Config) ownHosts(addr net.Addr) []string {
	listen, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		listen = ""
	}
	names := []string{listen}
	for _, text := range []string{c.externalURL(addr), c.AdvertiseURL, c.K8sOrigin} {
		if h := hostOf(text); h != "" {
			names = append(names, h)
		}
	}
	return certificate.Hosts(names...)
}

// server serves one listener until its context ends, then lets requests in
// flight finish.
type server struct {
	name     string
	listener net.Listener
	tls      *tls.Config
	handler  http.Handler
	// heads are the bytes of requests that are not complete.
	heads *pool.Places
	log   *slog.Logger
}

// Run serves until the context ends.
func (s *server) Run(ctx context.Context) error {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	// Behind a proxy, and in tests, HTTP/2 comes without TLS.
	protocols.SetUnencryptedHTTP2(s.tls == nil)
	srv := &http.Server{
		TLSConfig: s.tls, Protocols: &protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, MaxEncoderHeaderTableSize: headerTable},
		ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	countHeads(srv, smallframes.Handler(s.handler, authproxy.Owns))
	listener := headListener{s.listener, s.heads}
	ended := make(chan error, 1)
	go func() {
		if s.tls != nil {
			ended <- srv.ServeTLS(listener, "", "")
			return
		}
		ended <- srv.Serve(listener)
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", s.name, err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		s.log.Warn("requests in flight were cut off", "server", s.name)
		err = srv.Close()
		if err != nil && !errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("close %s: %w", s.name, err)
		}
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", s.name, err)
	}
	return nil
}
