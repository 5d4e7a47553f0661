package git_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/axle-cd/axle/hub/gitcache/upstream/git"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/gitserver"
)

// sshKey makes a key of a kind.
func sshKey(t *testing.T, kind, passphrase string) (private, authorized string) {
	t.Helper()
	private, authorized, err := gitserver.SSHKey(t.Context(), t.TempDir(), kind, passphrase)
	if err != nil {
		t.Fatal(err)
	}
	return private, authorized
}

// hashed rewrites known_hosts lines as ssh-keygen -H would.
func hashed(lines string) string {
	var out strings.Builder
	for line := range strings.Lines(lines) {
		host, rest, _ := strings.Cut(line, " ")
		out.WriteString(knownhosts.HashHostname(host) + " " + rest)
	}
	return out.String()
}

// TestSSHKeysAndHosts goes through the kinds of keys on both sides.
func TestSSHKeysAndHosts(t *testing.T) {
	t.Parallel()
	g := newUpstream(t, git.Config{})
	for name, tt := range map[string]struct {
		key, passphrase string
		hosts           []string
		known           func(string) string
		old             bool
	}{
		"ed25519":           {key: "ed25519"},
		"passphrase":        {key: "ed25519", passphrase: "pass phrase"},
		"rsa":               {key: "rsa", hosts: []string{"rsa"}},
		"ecdsa, hashed":     {key: "ecdsa", hosts: []string{"ecdsa"}, known: hashed},
		"rsa, hashed":       {key: "rsa", passphrase: "x y", hosts: []string{"rsa"}, known: hashed},
		"one of three":      {key: "ed25519", hosts: []string{"ed25519", "ecdsa", "rsa"}, known: func(s string) string { return strings.SplitAfter(s, "\n")[2] }},
		"comments and more": {key: "ed25519", known: func(s string) string { return "# a comment\n\nother.example " + strings.SplitN(s, " ", 2)[1] + s }},
		"protocol 0":        {key: "ed25519", old: true},
	} {
		private, authorized := sshKey(t, tt.key, tt.passphrase)
		s := newGit(t, gitserver.Config{SSH: true, AuthorizedKey: authorized, HostKeys: tt.hosts, OldSSH: tt.old})
		known := s.KnownHosts()
		if tt.known != nil {
			known = tt.known(known)
		}
		a := git.Access{URL: s.SSHURL(repo), PrivateKey: private, Passphrase: tt.passphrase, KnownHosts: known}
		reads(t, g, a, name)
		if err := s.SetRef(t.Context(), repo, "refs/pull/7/head", commit(t, s, "other", "x")); err != nil { // not listed
			t.Fatal(err)
		}
		s.Forget()
		refs, _, err := list(t.Context(), server(t, g, a), "refs/heads/main", "refs/tags/main")
		if err != nil || len(refs) != 1 {
			t.Errorf("%s: %v, %v", name, refs, err)
		}
		asked := s.Log(repo)
		if want := "[HEAD refs/heads/main refs/tags/main]"; !tt.old && (len(asked) != 1 || fmt.Sprint(asked[0].Prefixes) != want) {
			t.Errorf("%s: asked %+v, want prefixes %s", name, asked, want)
		}
	}
}

func TestSSHRefusals(t *testing.T) {
	t.Parallel()
	g := newUpstream(t, git.Config{ListTimeout: 20 * time.Second})
	private, authorized := sshKey(t, "ed25519", "pass phrase")
	s := newGit(t, gitserver.Config{SSH: true, AuthorizedKey: authorized})
	otherHost := newGit(t, gitserver.Config{SSH: true, AuthorizedKey: authorized})
	otherKey, _ := sshKey(t, "ed25519", "pass phrase")
	good := git.Access{URL: s.SSHURL(repo), PrivateKey: private, Passphrase: "pass phrase", KnownHosts: s.KnownHosts()}
	address, _, _ := strings.Cut(s.KnownHosts(), " ")
	_, strange, _ := strings.Cut(otherHost.KnownHosts(), " ")
	for name, tt := range map[string]struct {
		change func(*git.Access)
		code   errcode.Code
		want   string
	}{
		"other key":        {func(a *git.Access) { a.PrivateKey = otherKey }, errcode.Unauthorized, "refuses the key SHA256:"},
		"unknown host":     {func(a *git.Access) { a.KnownHosts = otherHost.KnownHosts() }, errcode.Forbidden, "known_hosts has no key for"},
		"changed host":     {func(a *git.Access) { a.KnownHosts = address + " " + strange }, errcode.Forbidden, "another host key than known_hosts has"},
		"revoked":          {func(a *git.Access) { a.KnownHosts = s.KnownHosts() + "@revoked " + s.KnownHosts() }, errcode.Forbidden, "revoked"},
		"no repository":    {func(a *git.Access) { a.URL = s.SSHURL("nowhere") }, errcode.NotFound, "does not appear to be a git repository"},
		"passphrase wrong": {func(a *git.Access) { a.Passphrase = "guess" }, errcode.Invalid, "cannot be read"},
		"no passphrase":    {func(a *git.Access) { a.Passphrase = "" }, errcode.Invalid, "give its passphrase"},
		"no known_hosts":   {func(a *git.Access) { a.KnownHosts = "" }, errcode.Invalid, "known_hosts"},
		"bad known_hosts":  {func(a *git.Access) { a.KnownHosts = "host notakey\n" }, errcode.Invalid, "known_hosts cannot be read"},
		"path with a line": {func(a *git.Access) { a.URL += "%0aid" }, errcode.Invalid, "control characters"},
	} {
		a := good
		tt.change(&a)
		srv, err := g.Server(a)
		if err == nil {
			_, _, err = list(t.Context(), srv)
		}
		if !errcode.Is(err, tt.code) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "pass phrase") {
			t.Errorf("%s: %v (%s), want %q (%s)", name, err, errcode.Of(err), tt.want, tt.code)
		}
	}
}

// TestSSHFaults checks that a session which breaks, hangs or sends wrong data
// ends, and does not change the mirror.
func TestSSHFaults(t *testing.T) {
	t.Parallel()
	private, authorized := sshKey(t, "ed25519", "")
	s := newGit(t, gitserver.Config{SSH: true, AuthorizedKey: authorized})
	// Only what hangs has a short time-out: on a busy machine a handshake takes
	// long.
	g, hasty := newUpstream(t, git.Config{}), newUpstream(t, git.Config{ListTimeout: time.Second, StallTimeout: time.Second})
	a := git.Access{URL: s.SSHURL(repo), PrivateKey: private, KnownHosts: s.KnownHosts()}
	srv, m := server(t, g, a), newRepository(t)
	if _, err := pull(t.Context(), srv, m); err != nil {
		t.Fatal(err)
	}
	id := commit(t, s, "main", strings.Repeat("x", 1000))
	for name, f := range map[string]gitserver.Fault{
		"hanging list":  {Only: gitserver.LsRefs, Hang: true},
		"cut list":      {Only: gitserver.LsRefs, Reset: true},
		"garbage list":  {Only: gitserver.LsRefs, Garbage: true},
		"hanging fetch": {Only: gitserver.Fetch, Hang: true},
		"cut fetch":     {Only: gitserver.Fetch, CutAt: 60},
		"garbage fetch": {Only: gitserver.Fetch, Garbage: true},
	} {
		s.SetFault(repo, f)
		srv := srv
		if f.Hang {
			srv = server(t, hasty, a)
		}
		if _, err := pull(t.Context(), srv, m); err == nil || errcode.Of(err) == errcode.Internal {
			t.Errorf("%s: %v", name, err)
		}
		if m.has(t.Context(), id) {
			t.Errorf("%s: the commit came", name)
		}
	}
	s.SetFault(repo, gitserver.Fault{})
	if refs, err := pull(t.Context(), srv, m); err != nil || refs["refs/heads/main"] != id {
		t.Errorf("afterwards: %v", err)
	}
}
