package upstream

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/axle-cd/axle/internal/errcode"
)

// overSSH lets git use ssh with one key, which never leaves this process: ssh
// asks an agent here to sign.
func (s *Server) overSSH(c *Command) (done func(), err error) {
	if s.access.PrivateKey == "" || s.access.KnownHosts == "" {
		return nil, errcode.New(errcode.Invalid, "%s needs a private key and the server's known_hosts lines; give both to the repository", s.loc)
	}
	key, err := parseKey(s.access.PrivateKey, s.access.Passphrase)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "axle-ssh-")
	if err != nil {
		return nil, err
	}
	stop, err := serveAgent(filepath.Join(dir, "agent"), key)
	done = func() {
		if stop != nil {
			stop()
		}
		_ = os.RemoveAll(dir)
	}
	hosts := filepath.Join(dir, "known_hosts")
	if err = errors.Join(err, os.WriteFile(hosts, []byte(s.access.KnownHosts), 0o600)); err != nil {
		done()
		return nil, err
	}
	// ssh dials by itself, so the name is resolved and looked at here and ssh
	// is told the address; the key is still checked for the name.
	ip, err := s.resolve()
	if err != nil {
		done()
		return nil, err
	}
	c.Env = append(c.Env, "SSH_AUTH_SOCK="+filepath.Join(dir, "agent"), "GIT_SSH_VARIANT=ssh", fmt.Sprintf(
		"GIT_SSH_COMMAND=ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile='%s' -o GlobalKnownHostsFile=/dev/null"+
			" -o PasswordAuthentication=no -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ForwardAgent=no -o HostName=%s -o HostKeyAlias=%s", hosts, ip, s.hostKeyAlias()))
	return done, nil
}

// hostKeyAlias is how known_hosts writes a server: with its port unless 22.
func (s *Server) hostKeyAlias() string {
	if s.loc.Port == "22" {
		return s.loc.Host
	}
	return fmt.Sprintf("'[%s]:%s'", s.loc.Host, s.loc.Port)
}

func (s *Server) resolve() (string, error) {
	ips, err := net.LookupIP(s.loc.Host)
	if err != nil {
		return "", err
	}
	for _, ip := range ips {
		addr, ok := addrOf(ip)
		if !ok {
			continue
		}
		if err = s.git.dialer.Check(addr); err == nil {
			return addr.String(), nil
		}
	}
	if err == nil {
		err = errcode.New(errcode.Unavailable, "%s has no address", s.loc.Host)
	}
	return "", err
}

func parseKey(pem, passphrase string) (any, error) {
	var key any
	var err error
	if passphrase != "" {
		key, err = ssh.ParseRawPrivateKeyWithPassphrase([]byte(pem), []byte(passphrase))
	} else {
		key, err = ssh.ParseRawPrivateKey([]byte(pem))
	}
	if err != nil {
		// The error of the parser is about form, never about content.
		return nil, errcode.New(errcode.Invalid, "the repository's private key cannot be read: %w", err)
	}
	return key, nil
}

func serveAgent(socket string, key any) (stop func(), err error) {
	keys := agent.NewKeyring()
	if err := keys.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(keys, c); _ = c.Close() }()
		}
	})
	return func() { _ = l.Close(); wg.Wait() }, nil
}
