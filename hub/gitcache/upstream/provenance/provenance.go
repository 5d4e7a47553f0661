// Package provenance checks the files that helm package --sign makes: a chart's
// metadata and the digest of its archive, signed in clear by OpenPGP.
//
// It fetches nothing and uses no web of trust and no key servers: it accepts
// only the keys that the user named.
//
// Invariants: the signature covers the digest of exactly this archive and,
// where they are known, the chart's name and version, so that an old signed
// chart cannot be served under a new version; MD5 and SHA-1 are refused; a key
// must be valid now.
package provenance

import (
	"bytes"
	"crypto"
	"strings"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/aliases"
	"github.com/axle-cd/axle/internal/errcode"
)

// MaxBytes limits a provenance file.
const MaxBytes = 1 << 20

// Keys are the trusted keys.
type Keys struct{ ring openpgp.EntityList }

// ParseKeys parses public keys in OpenPGP armor. errcode.Invalid.
func ParseKeys(texts []string) (Keys, error) {
	var k Keys
	for _, text := range texts {
		for part := range strings.SplitAfterSeq(text, "-----END PGP PUBLIC KEY BLOCK-----") {
			if strings.TrimSpace(part) == "" {
				continue
			}
			ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(part))
			if err != nil {
				return k, errcode.New(errcode.Invalid, "a trusted key is not an armored OpenPGP public key; gpg --export --armor KEY prints one")
			}
			k.ring = append(k.ring, ring...)
		}
	}
	if len(k.ring) == 0 {
		return k, errcode.New(errcode.Invalid, "no trusted key was given; give an OpenPGP public key in armor")
	}
	return k, nil
}

// Chart is what the file must sign. An empty Name or Version is not compared.
type Chart struct{ Name, Version, SHA256 string }

// Verify returns nil when a provenance file is signed by one of the keys and
// names the chart. errcode.Unprocessable.
func (k Keys) Verify(raw []byte, c Chart) error {
	no := func(format string, args ...any) error { return errcode.New(errcode.Unprocessable, format, args...) }
	block, rest := clearsign.Decode(raw)
	if block == nil || block.ArmoredSignature == nil {
		return no("the provenance file is not signed in clear by OpenPGP")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return no("the provenance file has text behind its signature")
	}
	weak := map[crypto.Hash]bool{crypto.MD5: true, crypto.SHA1: true, crypto.RIPEMD160: true}
	config := &packet.Config{RejectHashAlgorithms: weak, RejectMessageHashAlgorithms: weak}
	if _, err := openpgp.CheckDetachedSignature(k.ring, bytes.NewReader(block.Bytes), block.ArmoredSignature.Body, config); err != nil {
		return no("the provenance file is not signed by a trusted key: %w", err)
	}
	meta, sums, ok := strings.Cut(strings.ReplaceAll(string(block.Plaintext), "\r\n", "\n"), "\n...\n")
	if !ok {
		return no("the provenance file lacks the digests of its chart")
	}
	var signed struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	var files struct {
		Files map[string]string `json:"files"`
	}
	if aliases.Check([]byte(meta)) != nil || yaml.Unmarshal([]byte(meta), &signed) != nil {
		return no("the provenance file's metadata is not YAML")
	}
	if aliases.Check([]byte(sums)) != nil || yaml.Unmarshal([]byte(sums), &files) != nil {
		return no("the provenance file's digests are not YAML")
	}
	if c.Name != "" && signed.Name != c.Name || c.Version != "" && signed.Version != c.Version {
		return no("the provenance file is for chart %.100s %.100s, not for %s %s", signed.Name, signed.Version, c.Name, c.Version)
	}
	for _, sum := range files.Files {
		if sum == "sha256:"+c.SHA256 {
			return nil
		}
	}
	return no("the provenance file is signed for an archive with another SHA-256")
}
