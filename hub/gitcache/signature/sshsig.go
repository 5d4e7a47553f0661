package signature

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/crypto/ssh"
)

// envelope is the body of an SSH signature after its magic bytes.
type envelope struct {
	Version   uint32
	PublicKey []byte
	Namespace string
	Reserved  []byte
	Hash      string
	Signature []byte
}

// signed is what the key signs, after the magic bytes.
type signed struct {
	Namespace string
	Reserved  []byte
	Hash      string
	Digest    []byte
}

const (
	magic     = "SSHSIG"
	namespace = "git"
)

// algorithms are the accepted signature algorithms by key type; for RSA, not
// the one with SHA-1.
var algorithms = map[string][]string{
	ssh.KeyAlgoRSA:        {ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256},
	ssh.KeyAlgoED25519:    {ssh.KeyAlgoED25519},
	ssh.KeyAlgoECDSA256:   {ssh.KeyAlgoECDSA256},
	ssh.KeyAlgoECDSA384:   {ssh.KeyAlgoECDSA384},
	ssh.KeyAlgoECDSA521:   {ssh.KeyAlgoECDSA521},
	ssh.KeyAlgoSKED25519:  {ssh.KeyAlgoSKED25519},
	ssh.KeyAlgoSKECDSA256: {ssh.KeyAlgoSKECDSA256},
}

func (k *Keys) verifySSH(payload, sig []byte) error {
	block, _ := pem.Decode(sig)
	if block == nil || block.Type != "SSH SIGNATURE" || len(block.Bytes) < len(magic) || string(block.Bytes[:len(magic)]) != magic {
		return errors.New("its SSH signature cannot be read")
	}
	var e envelope
	if err := ssh.Unmarshal(block.Bytes[len(magic):], &e); err != nil || e.Version != 1 {
		return errors.New("its SSH signature cannot be read")
	}
	key, err := ssh.ParsePublicKey(e.PublicKey)
	if err != nil {
		return errors.New("the key of its SSH signature cannot be read")
	}
	by := ssh.FingerprintSHA256(key)
	if e.Namespace != namespace {
		return fmt.Errorf("the SSH key %s signed for %.40q, not for %q", by, e.Namespace, namespace)
	}
	var digest []byte
	switch e.Hash {
	case "sha512":
		sum := sha512.Sum512(payload)
		digest = sum[:]
	case "sha256":
		sum := sha256.Sum256(payload)
		digest = sum[:]
	default:
		return fmt.Errorf("the SSH key %s signed with an unknown hash (%.20q)", by, e.Hash)
	}
	var made ssh.Signature
	if err := ssh.Unmarshal(e.Signature, &made); err != nil || !slices.Contains(algorithms[key.Type()], made.Format) {
		return fmt.Errorf("the SSH key %s signed with an algorithm that is not accepted (%.40q)", by, made.Format)
	}
	if err := k.allowed(key, by); err != nil {
		return err
	}
	text := append([]byte(magic), ssh.Marshal(signed{e.Namespace, e.Reserved, e.Hash, digest})...)
	if err := key.Verify(text, &made); err != nil {
		return fmt.Errorf("its signature by the SSH key %s is wrong", by)
	}
	return nil
}

// allowed searches the keys that are trusted now and for git.
func (k *Keys) allowed(key ssh.PublicKey, by string) error {
	why := fmt.Errorf("it is signed by the SSH key %s, which is not trusted", by)
	now := k.now()
	for _, s := range k.ssh {
		switch {
		case string(s.key.Marshal()) != string(key.Marshal()):
		case len(s.namespaces) > 0 && !slices.Contains(s.namespaces, namespace):
			why = fmt.Errorf("it is signed by the SSH key %s, which is trusted for other uses than git", by)
		case !s.from.IsZero() && now.Before(s.from), !s.to.IsZero() && !now.Before(s.to):
			why = fmt.Errorf("it is signed by the SSH key %s, which is not trusted at this time", by)
		default:
			return nil
		}
	}
	return why
}
