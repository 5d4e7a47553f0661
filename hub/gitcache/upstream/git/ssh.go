package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"github.com/axle-cd/axle/hub/gitcache/gitexec"
	"github.com/axle-cd/axle/hub/gitcache/gitref"
	"github.com/axle-cd/axle/internal/errcode"
)

// prepareSSH parses the key and the known hosts. The key never leaves this
// process: it speaks SSH itself, and git gets a socket.
func (s *Server) prepareSSH() error {
	known, byOwner := s.access.KnownHosts, s.access.KnownHosts == "" && Published(s.loc)
	if byOwner {
		known = published
	}
	if s.access.PrivateKey == "" || known == "" {
		return errcode.New(errcode.Invalid, "%s needs a private key and the server's known_hosts lines; give both to the repository", s.loc)
	}
	var err error
	if s.access.Passphrase != "" {
		s.key, err = ssh.ParsePrivateKeyWithPassphrase([]byte(s.access.PrivateKey), []byte(s.access.Passphrase))
	} else {
		s.key, err = ssh.ParsePrivateKey([]byte(s.access.PrivateKey))
	}
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return errcode.New(errcode.Invalid, "the repository's private key is locked; give its passphrase")
	case err != nil:
		// The parser's error is about the format, never about the content.
		return errcode.New(errcode.Invalid, "the repository's private key cannot be read: %w", err)
	}
	if s.hosts, err = parseKnownHosts(known); err == nil {
		s.hosts.published = byOwner
	}
	return err
}

// session is one run of upload-pack on the server.
type session struct {
	client *ssh.Client
	run    *ssh.Session
	in     io.WriteCloser
	out    io.Reader
	errs   gitexec.Tail
	stop   func() bool
}

// handshakeTimeout limits connecting and logging in.
const handshakeTimeout = 30 * time.Second

// uploadPack starts upload-pack on the server and requests protocol 2, which
// old servers ignore. It ends with ctx.
func (s *Server) uploadPack(ctx context.Context, conns *gitexec.Conns) (*session, error) {
	path, err := sshPath(s.loc)
	if err != nil {
		return nil, err
	}
	dial, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	conn, err := s.out.held(conns).DialContext(dial, "tcp", s.loc.Address())
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	config := &ssh.ClientConfig{User: s.loc.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(s.key)}, HostKeyCallback: s.hosts.check,
		HostKeyAlgorithms: s.hosts.algorithms(s.loc.Address(), conn.RemoteAddr()), ClientVersion: "SSH-2.0-axle"}
	c, channels, requests, err := ssh.NewClientConn(conn, s.loc.Address(), config)
	if err != nil {
		return nil, errors.Join(s.explainSSH(err), conn.Close())
	}
	_ = conn.SetDeadline(time.Time{})
	ses := &session{client: ssh.NewClient(c, channels, requests)}
	ses.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	if err := ses.start(path); err != nil {
		return nil, errors.Join(err, ses.close())
	}
	return ses, nil
}

func (ses *session) start(path string) (err error) {
	if ses.run, err = ses.client.NewSession(); err != nil {
		return err
	}
	if ses.in, err = ses.run.StdinPipe(); err != nil {
		return err
	}
	if ses.out, err = ses.run.StdoutPipe(); err != nil {
		return err
	}
	ses.run.Stderr = &ses.errs
	// A server that does not accept the variable speaks protocol 0.
	_ = ses.run.Setenv("GIT_PROTOCOL", "version=2")
	return ses.run.Start("git-upload-pack '" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(path) + "'")
}

func (ses *session) close() error {
	ses.stop()
	return ses.client.Close()
}

// wrong puts the error output of the server's shell before the local error:
// "Repository not found" says more than an end of file.
func (ses *session) wrong(err error) error {
	if err == nil {
		return nil
	}
	if ses.run != nil {
		// The output comes on a separate channel, a moment later.
		ended := make(chan struct{})
		go func() { defer close(ended); _ = ses.run.Wait() }()
		select {
		case <-ended:
		case <-time.After(2 * time.Second):
			return err
		}
	}
	if words := ses.errs.String(); words != "" {
		return &gitexec.Error{Command: "upload-pack", Words: words}
	}
	return err
}

// sshPath returns the path for the server's shell.
func sshPath(loc Location) (string, error) {
	path, err := url.PathUnescape(loc.Path)
	if err != nil || strings.ContainsFunc(path, unicode.IsControl) {
		return "", errcode.New(errcode.Invalid, "the path of %s holds control characters", loc)
	}
	if loc.Home || strings.HasPrefix(path, "/~") {
		path = path[1:] // below a home directory
	}
	return path, nil
}

// explainSSH says which key does not match.
func (s *Server) explainSSH(err error) error {
	if known := s.hosts.explain(s.loc, err); known != nil {
		return known
	}
	if strings.Contains(err.Error(), "unable to authenticate") {
		return errcode.New(errcode.Unauthorized, "%s refuses the key %s; add its public half as a deploy key there", s.loc, ssh.FingerprintSHA256(s.key.PublicKey()))
	}
	return err
}

// listSSH lists the refs under the prefixes, as listHTTP does.
func (s *Server) listSSH(ctx context.Context, prefixes []string, see func(gitref.Ref) error) (Listing, error) {
	ses, err := s.uploadPack(ctx, nil)
	if err != nil {
		return Listing{}, err
	}
	l, err := listSession(ses, prefixes, see)
	err = ses.wrong(err)
	_ = ses.close()
	return l, err
}

func listSession(ses *session, prefixes []string, see func(gitref.Ref) error) (Listing, error) {
	in := bufio.NewReader(io.LimitReader(ses.out, maxListing))
	l, err := readAdvertisement(in, prefixes, see)
	if err != nil {
		return l.Listing, err
	}
	if l.version2 {
		if !l.lsRefs {
			return l.Listing, errNoRefs
		}
		if _, err := io.WriteString(ses.in, l.lsRefsRequest(prefixes)); err != nil {
			return l.Listing, err
		}
		if err := readRefs(in, &l.Listing, prefixes, see); err != nil {
			return l.Listing, err
		}
	}
	// End the stream. Everything was read, and a server that has seen the end,
	// or does not wait for it, may close before it is fully sent.
	_, _ = io.WriteString(ses.in, "0000")
	_ = ses.in.Close()
	return l.Listing, nil
}

// fetchSSH gives git a socket to a session of this process.
func (s *Server) fetchSSH(ctx context.Context, c gitexec.Command) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.Conns = &gitexec.Conns{}
	ses, err := s.uploadPack(ctx, c.Conns)
	if err != nil {
		return err
	}
	defer func() { _ = ses.close() }()
	theirs, ours, err := socketPair()
	if err != nil {
		return err
	}
	defer ours.Close()
	var moved atomic.Int64
	go func() { _, _ = io.Copy(ses.in, io.TeeReader(ours, counter{&moved})); _ = ses.in.Close() }()
	go func() { _, _ = io.Copy(ours, io.TeeReader(ses.out, counter{&moved})); _ = ours.CloseWrite() }()
	defer s.watch(&moved, func() {
		cancel(errcode.New(errcode.Unavailable, "%s sent nothing for %v", s.loc, s.git.config.StallTimeout))
	})()
	c.Files = append(c.Files, theirs)
	c.Env = append(c.Env, "GIT_ALLOW_PROTOCOL=fd")
	c.Args = append(c.Args, fmt.Sprintf("fd::%d", 2+len(c.Files)))
	err = s.git.config.Runner.Run(ctx, c)
	if err != nil && context.Cause(ctx) == nil {
		err = ses.wrong(err)
	}
	return err
}

// socketPair returns the two ends of a socket. A pair of pipes would not do: git
// holds its end open in two processes, and a shutdown of a socket affects both.
func socketPair() (theirs *os.File, ours *net.UnixConn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("create a socket for git: %w", err)
	}
	theirs = os.NewFile(uintptr(fds[0]), "for git")
	here := os.NewFile(uintptr(fds[1]), "from git")
	defer here.Close()
	c, err := net.FileConn(here)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return theirs, c.(*net.UnixConn), nil
}

// watch calls late once when nothing moved for the stall timeout. The returned
// function stops it.
func (s *Server) watch(moved *atomic.Int64, late func()) (end func()) {
	done := make(chan struct{})
	go func() {
		last := int64(-1)
		tick := time.NewTicker(s.git.config.StallTimeout)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				now := moved.Load()
				if now == last {
					late()
					return
				}
				last = now
			}
		}
	}()
	return func() { close(done) }
}

// counter counts the bytes written to it.
type counter struct{ n *atomic.Int64 }

// Write counts the bytes of p.
func (c counter) Write(p []byte) (int, error) { c.n.Add(int64(len(p))); return len(p), nil }
