package gitserver

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"

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
func startSSH(ctx context.Context, s *Server, authorized string) (*sshServer, error) {
	_, hostKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.NewSignerFromKey(hostKey)
	if err != nil {
		return nil, err
	}
	allowed, _, _, _, err := ssh.ParseAuthorizedKey([]byte(authorized))
	if err != nil {
		return nil, fmt.Errorf("read the authorized key: %w", err)
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(allowed.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	config.AddHostKey(signer)
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ss := &sshServer{server: s, config: config, listener: l, addr: l.Addr().String(), conns: map[net.Conn]bool{}}
	ss.knownHosts = knownhosts.Line([]string{ss.addr}, signer.PublicKey()) + "\n"
	ss.wg.Go(ss.accept)
	return ss, nil
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
			if ssh.Unmarshal(req.Payload, &kv) == nil && kv.Name == "GIT_PROTOCOL" {
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
	var events []*Event
	watch := &tap{see: func(p []byte) {
		if kind, ok := strings.CutPrefix(strings.TrimSpace(string(p)), "command="); ok {
			events = append(events, s.server.begin(repo, Kind(kind), nil))
		}
	}}
	cmd.Stdout = ch
	in, err := cmd.StdinPipe()
	if err != nil {
		return 1
	}
	go func() { _, _ = io.Copy(io.MultiWriter(watch, in), ch); _ = in.Close() }()
	err = cmd.Run()
	watch.mu.Lock()
	defer watch.mu.Unlock()
	for _, e := range events {
		s.server.end(e, 0, 0)
	}
	if err != nil {
		return 1
	}
	return 0
}
