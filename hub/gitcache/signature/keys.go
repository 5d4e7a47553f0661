package signature

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"golang.org/x/crypto/ssh"

	"github.com/axle-cd/axle/internal/errcode"
)

// Keys are the trusted public keys.
type Keys struct {
	pgp openpgp.EntityList
	ssh []signer
	now func() time.Time
}

// signer is a line of an allowed-signers file.
type signer struct {
	principals string
	key        ssh.PublicKey
	namespaces []string // empty is any
	from, to   time.Time
}

const pgpBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----"

// ParseKeys parses trusted keys: each text holds armored OpenPGP public keys,
// or lines of SSH allowed signers, or plain SSH public keys. errcode.Invalid
// says what cannot be read.
func ParseKeys(texts ...string) (*Keys, error) {
	k := &Keys{now: time.Now}
	for i, text := range texts {
		var err error
		if strings.Contains(text, pgpBegin) {
			err = k.addPGP(text)
		} else {
			err = k.addSSH(text)
		}
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "trusted key %d cannot be read: %w", i+1, err)
		}
	}
	if len(k.pgp)+len(k.ssh) == 0 {
		return nil, errcode.New(errcode.Invalid, "verification is required but no key is trusted; give OpenPGP public keys (gpg --armor --export) or SSH allowed signers")
	}
	return k, nil
}

func (k *Keys) addPGP(text string) error {
	for block := range strings.SplitSeq(text, pgpBegin) {
		if strings.TrimSpace(block) == "" {
			continue
		}
		if !strings.Contains(block, "-----END PGP") {
			return fmt.Errorf("the OpenPGP key has no end")
		}
		found, err := openpgp.ReadArmoredKeyRing(strings.NewReader(pgpBegin + block))
		if err != nil {
			return err
		}
		k.pgp = append(k.pgp, found...)
	}
	return nil
}

func (k *Keys) addSSH(text string) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		s, err := parseSigner(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		k.ssh = append(k.ssh, s)
	}
	return nil
}

// parseSigner parses "principals [options] type key [comment]" or just a key.
func parseSigner(line string) (signer, error) {
	if fields := strings.Fields(line); len(fields) >= 2 {
		if key, comment, options, _, err := ssh.ParseAuthorizedKey([]byte(line)); err == nil && len(options) == 0 && key.Type() == fields[0] {
			return signer{principals: comment, key: key}, plain(key)
		}
	}
	s := signer{}
	rest := line
	if strings.HasPrefix(line, `"`) {
		var ok bool
		if s.principals, rest, ok = strings.Cut(line[1:], `"`); !ok {
			return s, fmt.Errorf("a quote has no end")
		}
	} else if i := strings.IndexAny(line, " \t"); i > 0 {
		s.principals, rest = line[:i], line[i:]
	}
	key, _, options, _, err := ssh.ParseAuthorizedKey(bytes.TrimSpace([]byte(rest)))
	if err != nil {
		return s, fmt.Errorf("it is neither an OpenPGP key nor a line of allowed signers")
	}
	s.key = key
	for _, o := range options {
		if err := s.option(o); err != nil {
			return s, err
		}
	}
	return s, plain(key)
}

// plain refuses keys that certify other keys.
func plain(key ssh.PublicKey) error {
	if _, ok := key.(*ssh.Certificate); ok {
		return fmt.Errorf("certificates of SSH are not supported; give the key itself")
	}
	return nil
}

func (s *signer) option(o string) (err error) {
	name, value, _ := strings.Cut(o, "=")
	value = strings.Trim(value, `"`)
	switch strings.ToLower(name) {
	case "namespaces":
		s.namespaces = strings.Split(value, ",")
	case "valid-after":
		s.from, err = parseTime(value)
	case "valid-before":
		s.to, err = parseTime(value)
	default:
		err = fmt.Errorf("option %q of an allowed signer is not supported", name)
	}
	return err
}

func parseTime(s string) (time.Time, error) {
	s = strings.TrimSuffix(s, "Z")
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.30q is not a valid time in allowed signers", s)
}
