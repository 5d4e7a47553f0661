package git

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/axle-cd/axle/internal/errcode"
)

// fingerprints are those that the owners publish on the pages that published_hosts names.
const fingerprints = `
github.com +DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU p2QAMXNIC1TJYWeIOttrVc98/R1BUFWu3/LiyKgUfQM uNiVztksCsDhcc0u9e8BujQXVUpKZIDTMczCvj3tD2s
gitlab.com eUXGGm1YGsMAS7vkcx6JOJdOGHPem5gQp4taiCfCLB8 HbW3g8zUjNSksFbqTiUWPWg2Bq1x8xdGUrliXFzSnUw ROQFvPThGrW4RuWLoL9tq9I9zJ42fK4XywyRtbOz/EQ
bitbucket.org ybgmFkzwOSotHTHLJgHO0QN8L0xErw6vd0VhFA9m3SM FC73VB6C4OQLSCrjEayhMp9UMxS97caD/Yyi2bhW/J0 46OSHA1Rmj8E8ERTC6xkNcmGOw9oFxYr0WF6zWW8l1E
ssh.dev.azure.com ohD8VZEXGWo6Ez8GSEJQ9WpafgLFsOfLOtGGQCQo6Og
`

// TestPublishedHostKeys holds each key against the fingerprint that its owner publishes.
func TestPublishedHostKeys(t *testing.T) {
	all := map[string][]string{}
	for rest := []byte(published); ; {
		_, hosts, key, _, next, err := ssh.ParseKnownHosts(rest)
		if err != nil {
			break
		}
		all[hosts[0]] = append(all[hosts[0]], strings.TrimPrefix(ssh.FingerprintSHA256(key), "SHA256:"))
		rest = next
	}
	for line := range strings.Lines(strings.TrimSpace(fingerprints)) {
		words := strings.Fields(line)
		if have := all[words[0]]; !slices.Equal(have, words[1:]) {
			t.Errorf("%s has %q, want %q", words[0], have, words[1:])
		}
		delete(all, words[0])
	}
	if len(all) > 0 {
		t.Errorf("keys without a published fingerprint: %v", all)
	}
}

// A published host shows one of its own keys, and no other one; the error says what to do.
func TestPublishedHostsKeepTheirKeys(t *testing.T) {
	h, err := parseKnownHosts(published)
	if err != nil {
		t.Fatal(err)
	}
	h.published = true
	keys := map[string]ssh.PublicKey{}
	for rest := []byte(published); ; {
		_, hosts, key, _, next, err := ssh.ParseKnownHosts(rest)
		if err != nil {
			break
		}
		keys[hosts[0]], rest = key, next
	}
	for url, owner := range map[string]string{
		"git@github.com:acme/fleet.git": "github.com", "ssh://git@ssh.github.com:443/acme/fleet.git": "github.com",
		"git@gitlab.com:acme/fleet.git": "gitlab.com", "ssh://git@altssh.bitbucket.org:443/acme/fleet.git": "bitbucket.org",
		"git@ssh.dev.azure.com:v3/acme/fleet/fleet": "ssh.dev.azure.com", "acme@vs-ssh.visualstudio.com:v3/acme/fleet/fleet": "ssh.dev.azure.com",
	} {
		loc, _, _, err := ParseURL(url, false)
		if err != nil || !Published(loc) {
			t.Errorf("%s: %v, published %v", url, err, Published(loc))
			continue
		}
		remote := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 22}
		if err := h.check(loc.Address(), remote, keys[owner]); err != nil {
			t.Errorf("%s with its own key: %v", url, err)
		}
		other := keys["gitlab.com"]
		if owner == "gitlab.com" {
			other = keys["github.com"]
		}
		said := h.explain(loc, h.check(loc.Address(), remote, other))
		if !errcode.Is(said, errcode.Forbidden) || !strings.Contains(fmt.Sprint(said), "compare its fingerprint with those that its owner publishes") {
			t.Errorf("%s with another key: %v", url, said)
		}
	}
	for _, url := range []string{"git@git.example.com:acme/fleet.git", "ssh://git@github.com:2222/acme/fleet.git", "git@notgithub.com:acme/fleet.git"} {
		if loc, _, _, err := ParseURL(url, false); err != nil || Published(loc) {
			t.Errorf("%s: %v, published %v", url, err, Published(loc))
		}
	}
}
