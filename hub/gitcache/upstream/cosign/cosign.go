// Package cosign checks key-based signatures of OCI artifacts: the simple
// signing payload that cosign has stored since its first release, and the
// Sigstore bundle of newer ones, as a signed in-toto statement or a signed
// digest.
//
// It fetches nothing; the agent of artifact repositories brings the bytes. It
// does not support keyless signing: it ignores Fulcio certificates, Rekor
// inclusion and signed timestamps, and accepts only the keys that the user
// named.
//
// Invariants: the signed payload names the digest of exactly the manifest in
// question; one valid signature by one of the keys is enough; bytes that cannot
// be parsed count as no signature.
package cosign

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strconv"

	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

// Media types and annotations of signatures.
const (
	// SimpleSigning is the media type of the layer with a payload.
	SimpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json"
	// SignatureAnnotation holds, on that layer, the signature in base64.
	SignatureAnnotation = "dev.cosignproject.cosign/signature"
	// SignatureType is the artifact type of a signature that refers to its
	// subject.
	SignatureType = "application/vnd.dev.cosign.artifact.sig.v1+json"
	// BundleType is the prefix of a bundle's artifact type and media type.
	BundleType = "application/vnd.dev.sigstore.bundle"
)

// Keys are the trusted public keys.
type Keys []crypto.PublicKey

// ParseKeys parses public keys in PEM; each text may hold several.
// errcode.Invalid.
func ParseKeys(texts []string) (Keys, error) {
	var keys Keys
	for _, text := range texts {
		rest := []byte(text)
		for {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			key, err := parseKey(block)
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
		}
		if len(bytes.TrimSpace(rest)) > 0 {
			return nil, errcode.New(errcode.Invalid, "the trusted keys hold something that is not PEM; give the file that cosign generate-key-pair calls cosign.pub")
		}
	}
	if len(keys) == 0 {
		return nil, errcode.New(errcode.Invalid, "no trusted key was given; give a public key in PEM")
	}
	return keys, nil
}

func parseKey(block *pem.Block) (crypto.PublicKey, error) {
	if block.Type != "PUBLIC KEY" && block.Type != "RSA PUBLIC KEY" {
		return nil, errcode.New(errcode.Invalid, "the trusted keys hold a PEM block of type %.40q; give public keys", block.Type)
	}
	if block.Type == "RSA PUBLIC KEY" {
		key, err := x509.ParsePKCS1PublicKey(block.Bytes)
		if err != nil {
			return nil, errcode.New(errcode.Invalid, "a trusted key cannot be read: %w", err)
		}
		return key, nil
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "a trusted key cannot be read: %w", err)
	}
	switch k := key.(type) {
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return k, nil
	case *rsa.PublicKey:
		if k.N.BitLen() < 2048 {
			return nil, errcode.New(errcode.Invalid, "a trusted RSA key has %d bits; use 2048 or more", k.N.BitLen())
		}
		return k, nil
	}
	return nil, errcode.New(errcode.Invalid, "a trusted key is of an unsupported kind; use ECDSA, RSA or Ed25519")
}

// verifies reports whether one of the keys signed a message.
func (k Keys) verifies(message, signature []byte) bool {
	sum := sha256.Sum256(message)
	wide := sha512.Sum384(message)
	long := sha512.Sum512(message)
	for _, key := range k {
		ok := false
		switch key := key.(type) {
		case *ecdsa.PublicKey:
			digest := sum[:]
			// Bundles do not name the hash of a key: the curve determines it.
			ok = ecdsa.VerifyASN1(key, digest, signature)
			if !ok && key.Curve.Params().BitSize == 384 {
				ok = ecdsa.VerifyASN1(key, wide[:], signature)
			} else if !ok && key.Curve.Params().BitSize == 521 {
				ok = ecdsa.VerifyASN1(key, long[:], signature)
			}
		case *rsa.PublicKey:
			ok = rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil ||
				rsa.VerifyPSS(key, crypto.SHA256, sum[:], signature, nil) == nil
		case ed25519.PublicKey:
			ok = ed25519.Verify(key, message, signature)
		}
		if ok {
			return true
		}
	}
	return false
}

// Simple reports whether a payload is signed by one of the keys and names the
// manifest with this digest, "sha256:…".
func (k Keys) Simple(payload []byte, signature, digest string) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || !k.verifies(payload, raw) {
		return false
	}
	var p struct {
		Critical struct {
			Type  string `json:"type"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
	}
	return json.Unmarshal(payload, &p) == nil && p.Critical.Type == "cosign container image signature" && p.Critical.Image.Digest == digest
}

type bundle struct {
	DSSE *struct {
		Payload    []byte `json:"payload"`
		Type       string `json:"payloadType"`
		Signatures []struct {
			Signature []byte `json:"sig"`
		} `json:"signatures"`
	} `json:"dsseEnvelope"`
	Message *struct {
		Digest struct {
			Algorithm string `json:"algorithm"`
			Digest    []byte `json:"digest"`
		} `json:"messageDigest"`
		Signature []byte `json:"signature"`
	} `json:"messageSignature"`
}

// signTypes are the predicates of a statement that only claims authorship. An
// attestation of a build or a scan is not a signature.
var signTypes = map[string]bool{"https://sigstore.dev/cosign/sign/v1": true}

// Bundle reports whether a bundle is signed by one of the keys and names the
// manifest with these bytes and this digest, "sha256:…".
func (k Keys) Bundle(raw, manifest []byte, digest string) bool {
	var b bundle
	if bounded.JSON(raw, &b, bounded.Most(len(raw))) != nil {
		return false
	}
	if b.DSSE != nil {
		return k.statement(b, digest)
	}
	if b.Message == nil {
		return false
	}
	sum := sha256.Sum256(manifest)
	return (len(b.Message.Digest.Digest) == 0 || bytes.Equal(sum[:], b.Message.Digest.Digest)) && k.verifies(manifest, b.Message.Signature)
}

// statement verifies an in-toto statement in its envelope.
func (k Keys) statement(b bundle, digest string) bool {
	signed := []byte("DSSEv1 " + strconv.Itoa(len(b.DSSE.Type)) + " " + b.DSSE.Type + " " + strconv.Itoa(len(b.DSSE.Payload)) + " ")
	signed = append(signed, b.DSSE.Payload...)
	good := false
	for _, s := range b.DSSE.Signatures {
		good = good || k.verifies(signed, s.Signature)
	}
	if !good || b.DSSE.Type != "application/vnd.in-toto+json" {
		return false
	}
	var s struct {
		Predicate string `json:"predicateType"`
		Subject   []struct {
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
	}
	if bounded.JSON(b.DSSE.Payload, &s, bounded.Most(len(b.DSSE.Payload))) != nil || !signTypes[s.Predicate] {
		return false
	}
	for _, subject := range s.Subject {
		if subject.Digest["sha256"] != "" && "sha256:"+subject.Digest["sha256"] == digest {
			return true
		}
	}
	return false
}
