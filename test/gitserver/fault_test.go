package gitserver_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/axle-cd/axle/test/gitserver"
)

func TestMoreFaults(t *testing.T) {
	t.Parallel()
	s, other := start(t, gitserver.Config{}), start(t, gitserver.Config{})
	commit(t, s, map[string]gitserver.Content{"a": "1"})
	for name, f := range map[string]gitserver.Fault{
		"garbage list": {Only: gitserver.LsRefs, Garbage: true},
		"garbage pack": {Only: gitserver.Fetch, Garbage: true},
		"bomb":         {Bomb: 1 << 20},
		"too many":     gitserver.TooMany(time.Minute),
	} {
		s.SetFault("team/app", f)
		if _, out, err := clone(t, s.URL("team/app")); err == nil {
			t.Errorf("%s: cloned: %s", name, out)
		}
	}
	s.SetFault("team/app", gitserver.Fault{Status: 500, Limit: 1})
	if _, _, err := clone(t, s.URL("team/app")); err == nil {
		t.Error("limited fault: cloned")
	}
	if _, out, err := clone(t, s.URL("team/app")); err != nil {
		t.Errorf("the limited fault did not end: %v: %s", err, out)
	}
	s.SetFault("team/app", gitserver.Fault{Redirect: strings.TrimSuffix(other.URL(""), "/.git")})
	_, _, _ = clone(t, s.URL("team/app"))
	if n := len(other.Log("")); n == 0 {
		t.Error("the redirect led nowhere")
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	s := start(t, gitserver.Config{TLS: true})
	commit(t, s, map[string]gitserver.Content{"a": "1"})
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	ca := "http.sslCAInfo=" + write("ca", s.CA())
	s.Expire(true)
	if _, out, err := clone(t, s.URL("team/app"), "-c", ca); err == nil || !strings.Contains(out, "verification failed") {
		t.Errorf("expired: %v: %s", err, out)
	}
	s.Expire(false)
	s.RequireClientCertificate(true)
	if _, _, err := clone(t, s.URL("team/app"), "-c", ca); err == nil {
		t.Error("cloned without a client certificate")
	}
	cert, key, err := s.ClientCertificate()
	if err != nil {
		t.Fatal(err)
	}
	if _, out, err := clone(t, s.URL("team/app"), "-c", ca, "-c", "http.sslCert="+write("cert", cert), "-c", "http.sslKey="+write("key", key)); err != nil {
		t.Errorf("with a client certificate: %v: %s", err, out)
	}
}

func TestProxies(t *testing.T) {
	t.Parallel()
	s := start(t, gitserver.Config{})
	commit(t, s, map[string]gitserver.Content{"a": "1"})
	for _, scheme := range []string{"http", "socks5"} {
		p, err := gitserver.StartProxy(t.Context(), scheme, "me", "secret")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close() })
		u, _ := url.Parse(p.URL())
		u.User = url.UserPassword("me", "secret")
		if _, out, err := clone(t, s.URL("team/app"), "-c", "http.proxy="+u.String()); err != nil || len(p.Log()) == 0 || p.Log()[0] != s.Addr() {
			t.Errorf("%s: %v: %s; log %v", scheme, err, out, p.Log())
		}
		u.User = url.UserPassword("me", "wrong")
		if _, _, err := clone(t, s.URL("team/app"), "-c", "http.proxy="+u.String()); err == nil {
			t.Errorf("%s: cloned with a wrong password", scheme)
		}
	}
}

func TestSSH(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, _ := ssh.NewPublicKey(public)
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	id := filepath.Join(dir, "id")
	if err := os.WriteFile(id, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, old := range []bool{false, true} {
		s := start(t, gitserver.Config{SSH: true, AuthorizedKey: string(ssh.MarshalAuthorizedKey(key)), HostKeys: []string{"rsa", "ecdsa"}, OldSSH: old})
		commit(t, s, map[string]gitserver.Content{"a": "1"})
		hosts := filepath.Join(t.TempDir(), "hosts")
		if err := os.WriteFile(hosts, []byte(s.KnownHosts()), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "git", "clone", "-q", s.SSHURL("team/app"), filepath.Join(t.TempDir(), "c"))
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_SSH_COMMAND=ssh -F /dev/null -i " + id + " -o UserKnownHostsFile=" + hosts}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("old %v: %v: %s", old, err, out)
		}
		if s.Count("team/app", gitserver.LsRefs) != 1 || s.Count("team/app", gitserver.Fetch) != 1 {
			t.Errorf("old %v: log is %+v", old, s.Log("team/app"))
		}
		for _, e := range s.Log("team/app") {
			if e.End.IsZero() || e.Bytes == 0 || e.Kind == gitserver.LsRefs && !old && len(e.Prefixes) == 0 || e.Kind == gitserver.Fetch && len(e.Wants) == 0 {
				t.Errorf("old %v: event %+v", old, e)
			}
		}
		s.SetFault("team/app", gitserver.Fault{Only: gitserver.Fetch, Garbage: true})
		cmd = exec.CommandContext(t.Context(), "git", "clone", "-q", s.SSHURL("team/app"), filepath.Join(t.TempDir(), "c"))
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_SSH_COMMAND=ssh -F /dev/null -i " + id + " -o UserKnownHostsFile=" + hosts}
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("old %v: garbage was cloned: %s", old, out)
		}
	}
}

// TestCheckOfPasswords lets a function decide who may read.
func TestCheckOfPasswords(t *testing.T) {
	t.Parallel()
	s := start(t, gitserver.Config{})
	commit(t, s, map[string]gitserver.Content{"a": "1"})
	s.SetCheck(func(user, password string) bool { return user == "x" && password == "y" })
	if _, _, err := clone(t, s.URL("team/app")); err == nil {
		t.Error("cloned without a password")
	}
	if _, out, err := clone(t, strings.Replace(s.URL("team/app"), "://", "://x:y@", 1)); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if n := s.Count("team/app", gitserver.Refused); n == 0 {
		t.Error("nobody was refused")
	}
}
