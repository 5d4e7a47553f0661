package gitserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/axle-cd/axle/internal/jitter"
)

// Config of a server. The zero value serves plain HTTP without credentials from its
// own folder.
type Config struct {
	Dir    string // of the bare repositories; empty is a temporary folder
	Listen string // default 127.0.0.1:0
	// Hosts is at how many addresses it answers, one if zero: 127.0.0.1 and those after it,
	// all on one port. To a client each is a server of its own.
	Hosts    int
	TLS      bool   // serve HTTPS with a certificate that CA() vouches for
	Username string // basic auth is asked for when Password is set
	Password string
	SSH      bool // also serve SSH; AuthorizedKey may read and write
	// AuthorizedKey is a line of authorized_keys.
	AuthorizedKey string
	// HostKeys are the kinds of keys that the SSH side shows: "ed25519" (the
	// default), "rsa", "ecdsa".
	HostKeys []string
	// OldSSH makes the SSH side deaf to the wish for protocol version 2, as
	// servers are that do not accept the variable GIT_PROTOCOL.
	OldSSH bool
}

// Server is a running Git server. Close ends it.
type Server struct {
	config    Config
	dir       string
	ownDir    bool
	backend   string // path of git-http-backend
	authority *authority
	addr      string
	tls       *tls.Config
	ssh       *sshServer
	mu        sync.Mutex
	http      *http.Server
	listener  net.Listener
	lfsBase   string // where LFS objects are, when elsewhere
	faults    map[string]Fault
	events    []*Event
	auth      [2]string
	check     func(username, password string) bool
	wg        sync.WaitGroup
}

// Start starts a server. ctx bounds the start only.
func Start(ctx context.Context, c Config) (*Server, error) {
	execPath, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("ask git where its programs are (apt-get install git): %w", err)
	}
	s := &Server{config: c, dir: c.Dir, faults: map[string]Fault{}, auth: [2]string{c.Username, c.Password},
		backend: filepath.Join(strings.TrimSpace(string(execPath)), "git-http-backend")}
	if _, err := os.Stat(s.backend); err != nil {
		return nil, fmt.Errorf("git has no http-backend (apt-get install git): %w", err)
	}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "gitserver-"); err != nil {
			return nil, err
		}
		s.ownDir = true
	}
	if c.TLS {
		if s.authority, err = newAuthority(c.Listen); err != nil {
			return nil, err
		}
		s.tls = s.authority.config()
	}
	listen := c.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	if err := s.up(ctx, listen); err != nil {
		return nil, err
	}
	if c.SSH {
		if s.ssh, err = startSSH(ctx, s, c); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// up opens the port, the same one as before when it was down.
func (s *Server) up(ctx context.Context, listen string) error {
	l, err := bind(ctx, listen)
	if err != nil {
		return fmt.Errorf("listen for git clients: %w", err)
	}
	s.addr = l.Addr().String()
	if s.tls != nil {
		l = tls.NewListener(l, s.tls)
	}
	h := &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute, ErrorLog: discard}
	s.mu.Lock()
	s.http, s.listener = h, l
	s.mu.Unlock()
	s.wg.Go(func() { _ = h.Serve(l) })
	for host := 1; host < s.config.Hosts; host++ {
		l, err := bind(ctx, s.address(host))
		if err != nil {
			return errors.Join(fmt.Errorf("listen for git clients: %w", err), s.Down())
		}
		s.wg.Go(func() { _ = h.Serve(l) })
	}
	return nil
}

// address is where the server answers as one of its hosts.
func (s *Server) address(host int) string {
	if host == 0 {
		return s.addr
	}
	_, port, _ := net.SplitHostPort(s.addr) // it is what a listener said
	return fmt.Sprintf("127.0.0.%d:%s", host+1, port)
}

// bind opens a port. While this server was down, the system may have given its port
// to a client's connection, which is mostly over soon.
func bind(ctx context.Context, listen string) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	backoff := jitter.Backoff{Min: 10 * time.Millisecond, Max: time.Second}
	for {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", listen)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) || jitter.Wait(ctx, backoff.Next()) != nil {
			return l, err
		}
	}
}

// Down closes the port and cuts all connections: clients are refused.
func (s *Server) Down() error {
	s.mu.Lock()
	h := s.http
	s.http = nil
	s.mu.Unlock()
	if h == nil {
		return nil
	}
	return h.Close()
}

// Up opens the port again after Down.
func (s *Server) Up(ctx context.Context) error {
	s.mu.Lock()
	running := s.http != nil
	s.mu.Unlock()
	if running {
		return nil
	}
	return s.up(ctx, s.addr)
}

// Close ends the server and removes the folder, if it was made here.
func (s *Server) Close() error {
	s.mu.Lock()
	clear(s.faults)
	s.mu.Unlock()
	err := s.Down()
	if s.ssh != nil {
		err = errors.Join(err, s.ssh.close())
	}
	s.wg.Wait()
	if s.ownDir {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// URL returns where clients find a repository.
func (s *Server) URL(repo string) string { return s.URLAt(0, repo) }

// URLAt is URL at another one of Config.Hosts, the first of which is 0.
func (s *Server) URLAt(host int, repo string) string {
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	return scheme + "://" + s.address(host) + "/" + repo + ".git"
}

// SSHURL returns where SSH clients find a repository.
func (s *Server) SSHURL(repo string) string {
	return "ssh://git@" + s.ssh.addr + "/" + repo + ".git"
}

// Addr returns host and port of the HTTP side.
func (s *Server) Addr() string { return s.addr }

// CA returns the PEM of the authority behind the TLS certificate.
func (s *Server) CA() string { return s.authority.pem }

// Expire makes the TLS certificate one that ran out yesterday, or a good one
// again. It acts on new connections.
func (s *Server) Expire(expired bool) { s.authority.expired.Store(expired) }

// RequireClientCertificate refuses TLS clients without a certificate of this
// server's authority. It acts on new connections.
func (s *Server) RequireClientCertificate(required bool) { s.authority.clients.Store(required) }

// ClientCertificate makes one that RequireClientCertificate accepts, in PEM.
func (s *Server) ClientCertificate() (certificate, key string, err error) {
	return s.authority.client()
}

// KnownHosts returns the lines of known_hosts for the SSH side.
func (s *Server) KnownHosts() string { return s.ssh.knownHosts }

// SetPassword changes what basic auth asks for; an empty password ends it.
func (s *Server) SetPassword(username, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.auth = [2]string{username, password}
}

// SetCheck makes basic auth ask check instead of comparing with one password;
// nil ends it. It is how a server takes tokens that come and go.
func (s *Server) SetCheck(check func(username, password string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check = check
}

// CloseConnections cuts the HTTP connections that clients keep, so that the
// next request makes a new one.
func (s *Server) CloseConnections(ctx context.Context) error {
	return errors.Join(s.Down(), s.Up(ctx))
}

// Path returns the folder of a bare repository, for git commands by hand.
func (s *Server) Path(repo string) string { return filepath.Join(s.dir, repo+".git") }
