package gitserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

type sshServer struct {
	server     *Server
	config     *ssh.ServerConfig
	listener   net.Listener
	addr       string
	knownHosts string
	mu         sync.Mutex
	conns      map[net.Conn]bool
	wg         sync.WaitGroup
}

// startSSH serves git over SSH to the holder of one key.
func startSSH(ctx context.Context, s *Server, c Config) (*sshServer, error) {
	allowed, _, _, _, err := ssh.ParseAuthorizedKey([]byte(c.AuthorizedKey))
	if err != nil {
		return nil, fmt.Errorf("read the authorized key: %w", err)
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(allowed.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ss := &sshServer{server: s, config: config, listener: l, addr: l.Addr().String(), conns: map[net.Conn]bool{}}
	kinds := c.HostKeys
	if len(kinds) == 0 {
		kinds = []string{"ed25519"}
	}
	for _, kind := range kinds {
		signer, err := hostKey(kind)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		config.AddHostKey(signer)
		ss.knownHosts += knownhosts.Line([]string{ss.addr}, signer.PublicKey()) + "\n"
	}
	ss.wg.Go(ss.accept)
	return ss, nil
}

func hostKey(kind string) (ssh.Signer, error) {
	var key any
	var err error
	switch kind {
	case "ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "rsa":
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	case "ecdsa":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		return nil, fmt.Errorf("host key of kind %q; ed25519, rsa and ecdsa are known", kind)
	}
	if err != nil {
		return nil, err
	}
	return ssh.NewSignerFromKey(key)
}

func (s *sshServer) close() error {
	err := s.listener.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return err
}

func (s *sshServer) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.wg.Go(func() {
			defer func() {
				_ = c.Close()
				s.mu.Lock()
				delete(s.conns, c)
				s.mu.Unlock()
			}()
			s.serve(c)
		})
	}
}

func (s *sshServer) serve(c net.Conn) {
	conn, channels, requests, err := ssh.NewServerConn(c, s.config)
	if err != nil {
		return
	}
	defer conn.Close()
	go ssh.DiscardRequests(requests)
	for open := range channels {
		if open.ChannelType() != "session" {
			_ = open.Reject(ssh.UnknownChannelType, "only sessions")
			continue
		}
		ch, reqs, err := open.Accept()
		if err != nil {
			return
		}
		s.session(ch, reqs)
	}
}

// session runs the one git command that a client may ask for.
func (s *sshServer) session(ch ssh.Channel, reqs <-chan *ssh.Request) {
	defer ch.Close()
	env := environ()
	for req := range reqs {
		switch req.Type {
		case "env":
			var kv struct{ Name, Value string }
			if ssh.Unmarshal(req.Payload, &kv) == nil && kv.Name == "GIT_PROTOCOL" && !s.server.config.OldSSH {
				env = append(env, "GIT_PROTOCOL="+kv.Value)
			}
			_ = req.Reply(true, nil)
		case "exec":
			var cmd struct{ Line string }
			_ = ssh.Unmarshal(req.Payload, &cmd)
			_ = req.Reply(true, nil)
			status := s.run(ch, cmd.Line, env)
			_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
			return
		default:
			_ = req.Reply(false, nil)
		}
	}
}

func (s *sshServer) run(ch ssh.Channel, line string, env []string) uint32 {
	program, arg, _ := strings.Cut(line, " ")
	repo, ok := strings.CutSuffix(strings.Trim(arg, "'/"), ".git")
	if !ok || (program != "git-upload-pack" && program != "git-receive-pack") || strings.Contains(repo, "..") {
		fmt.Fprintf(ch.Stderr(), "not allowed: %s\n", line)
		return 1
	}
	cmd := exec.Command("git", strings.TrimPrefix(program, "git-"), s.server.Path(repo))
	cmd.Env, cmd.Stderr = env, ch.Stderr()
	w := &sshWatch{server: s.server, repo: repo, ch: ch}
	defer w.close()
	if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "GIT_PROTOCOL=version=2") }) {
		w.begin(LsRefs) // older protocols list refs at once
	}
	cmd.Stdout = w
	in, err := cmd.StdinPipe()
	if err != nil {
		return 1
	}
	watch := &tap{see: w.see}
	go func() { _, _ = io.Copy(io.MultiWriter(watch, in), ch); _ = in.Close() }()
	if cmd.Run() != nil {
		return 1
	}
	return 0
}

// sshWatch logs the requests of one session and applies its faults.
type sshWatch struct {
	server *Server
	repo   string
	ch     ssh.Channel
	mu     sync.Mutex
	event  *Event // of the present request
	sent   int64  // of it
}

func (w *sshWatch) see(p []byte) {
	text := strings.TrimSpace(string(p))
	w.mu.Lock()
	defer w.mu.Unlock()
	switch word, rest, _ := strings.Cut(text, " "); {
	case strings.HasPrefix(text, "command="):
		w.begin(Kind(strings.TrimPrefix(text, "command=")))
	case word == "ref-prefix" && w.event != nil:
		w.server.note(func() { w.event.Prefixes = append(w.event.Prefixes, rest) })
	case word == "want":
		if w.event == nil || w.event.Kind != Fetch {
			w.begin(Fetch)
		}
		id, _, _ := strings.Cut(rest, " ")
		w.server.note(func() { w.event.Wants = append(w.event.Wants, id) })
	}
}

// begin ends the request before and starts one.
func (w *sshWatch) begin(kind Kind) {
	if w.event != nil {
		w.server.end(w.event, w.sent, 0)
	}
	w.event, w.sent = w.server.begin(w.repo, kind, nil), 0
}

func (w *sshWatch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.event != nil {
		w.server.end(w.event, w.sent, 0)
	}
}

// Write sends to the client, as far as the fault of the request lets it.
func (w *sshWatch) Write(p []byte) (int, error) {
	w.mu.Lock()
	kind := Connect
	if w.event != nil {
		kind = w.event.Kind
	}
	f := w.server.fault(w.repo, kind)
	sent := w.sent
	w.sent += int64(len(p))
	w.mu.Unlock()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for began := time.Now(); f.Hang && w.server.fault(w.repo, kind).Hang || time.Since(began) < f.Delay; {
		<-poll.C
	}
	switch {
	case f.Reset, f.CutAt > 0 && kind == Fetch && sent+int64(len(p)) > f.CutAt:
		_ = w.ch.Close()
		return 0, errCut
	case f.Garbage:
		return len(p), writeGarbage(w.ch, kind)
	}
	return w.ch.Write(p)
}

// SSHKey makes a key of a kind that ssh-keygen knows, in a new file of dir: the private
// key, locked when there is a passphrase, and its line of authorized_keys. The passphrase
// costs one round instead of 24, which are seconds under the race detector.
func SSHKey(ctx context.Context, dir, kind, passphrase string) (private, authorized string, err error) {
	inner, err := os.MkdirTemp(dir, "key-")
	if err != nil {
		return "", "", err
	}
	path := filepath.Join(inner, "id")
	out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", kind, "-a", "1", "-N", passphrase, "-C", "", "-f", path).CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("ssh-keygen (apt-get install openssh-client): %w: %s", err, out)
	}
	locked, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	public, err := os.ReadFile(path + ".pub")
	return string(locked), string(public), err
}
