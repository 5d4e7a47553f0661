package git

import (
	"crypto/ed25519"
	_ "embed" // the published host keys
	"errors"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/axle-cd/axle/internal/errcode"
)

// hostKeys are the servers in a repository's known_hosts lines: plain and
// hashed names, ports, wildcards, authorities and revoked keys.
type hostKeys struct {
	check       ssh.HostKeyCallback
	authorities bool
	// published says that they are those of this release.
	published bool
}

//go:embed published_hosts
var published string

// Published reports whether the host keys of a server are known by what its owner
// publishes, so that a repository needs no lines of its own. Those of a repository win.
func Published(loc Location) bool {
	name := knownhosts.Normalize(loc.Address())
	for line := range strings.Lines(published) {
		hosts, _, _ := strings.Cut(line, " ")
		if slices.Contains(strings.Split(hosts, ","), name) {
			return true
		}
	}
	return false
}

func parseKnownHosts(text string) (*hostKeys, error) {
	// The parser only takes files; the content of this one is public.
	f, err := os.CreateTemp("", "axle-hosts-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	check, err := knownhosts.New(f.Name())
	if err != nil {
		_, why, _ := strings.Cut(err.Error(), f.Name()+":")
		return nil, errcode.New(errcode.Invalid, "the repository's known_hosts cannot be read: line %s", why)
	}
	return &hostKeys{check: check, authorities: strings.Contains(text, "@cert-authority")}, nil
}

// algorithms returns the algorithms of a server's known keys. A server with
// several keys shows the one that the client requests, which must be a known one.
func (h *hostKeys) algorithms(address string, remote net.Addr) []string {
	if h.authorities {
		return nil
	}
	probe, err := ssh.NewPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize)))
	if err != nil {
		return nil
	}
	var unknown *knownhosts.KeyError
	if !errors.As(h.check(address, remote, probe), &unknown) {
		return nil
	}
	var out []string
	for _, k := range unknown.Want {
		if t := k.Key.Type(); t == ssh.KeyAlgoRSA {
			out = append(out, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// explain returns what is wrong with a host key, nil when the error has another
// cause.
func (h *hostKeys) explain(loc Location, err error) error {
	var unknown *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	switch {
	case errors.As(err, &revoked):
		return errcode.New(errcode.Forbidden, "%s shows a host key that known_hosts marks as revoked", loc.Host)
	case !errors.As(err, &unknown):
		return nil
	case len(unknown.Want) == 0:
		return errcode.New(errcode.Forbidden, "known_hosts has no key for %s; add the lines that ssh-keyscan prints for it, after comparing them", loc.Address())
	}
	if h.published {
		return errcode.New(errcode.Forbidden, "%s shows another host key than this release of the hub knows for it; compare its fingerprint with those that its owner publishes, and give the new lines to the repository as its known_hosts", loc.Address())
	}
	return errcode.New(errcode.Forbidden, "%s shows another host key than known_hosts has; compare its fingerprint with its owner before you change known_hosts", loc.Address())
}
