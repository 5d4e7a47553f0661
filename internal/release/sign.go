package release

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// signatureAnnotation is where cosign keeps the signature over a payload.
const signatureAnnotation = "dev.cosignproject.cosign/signature"

const inToto = "application/vnd.in-toto+json"

// Signer signs the SHA-256 of a message by ECDSA or RSA.
type Signer func(message []byte) ([]byte, error)

// payload is what cosign signs of an image: "simple signing" of containers/image.
type payload struct {
	Critical struct {
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
		Image struct {
			Digest digest.Digest `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
	Optional map[string]string `json:"optional"`
}

const payloadType = "cosign container image signature"

// Sign writes the signature of an artifact beside it. The reference is where the
// release is published first.
func (l *Layout) Sign(a Artifact, reference string, sign Signer) error {
	var p payload
	p.Critical.Identity.Reference = reference
	p.Critical.Image.Digest = a.Digest
	p.Critical.Type = payloadType
	message, err := json.Marshal(p)
	if err != nil {
		return err
	}
	signature, err := sign(message)
	if err != nil {
		return fmt.Errorf("sign %s: %w", a.Ref(), err)
	}
	layer, err := l.Put(typeSignature, message)
	if err != nil {
		return err
	}
	layer.Annotations = map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(signature)}
	return l.beside(a.Beside("sig"), []ocispec.Descriptor{layer})
}

// beside writes a manifest of layers as cosign does, with the config of an image.
func (l *Layout) beside(name string, layers []ocispec.Descriptor) error {
	config := ocispec.Image{RootFS: ocispec.RootFS{Type: "layers"}}
	for _, d := range layers {
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, d.Digest)
	}
	c, err := l.PutJSON(ocispec.MediaTypeImageConfig, config)
	if err != nil {
		return err
	}
	m, err := l.PutManifest("", c, layers, nil)
	if err != nil {
		return err
	}
	l.Name(m, name)
	return nil
}

// envelope is DSSE.
type envelope struct {
	PayloadType string     `json:"payloadType"`
	Payload     []byte     `json:"payload"`
	Signatures  []dsseSign `json:"signatures"`
}

type dsseSign struct {
	KeyID string `json:"keyid"`
	Sig   []byte `json:"sig"`
}

// Envelope signs an in-toto statement as DSSE.
func Envelope(statement []byte, sign Signer) ([]byte, error) {
	signature, err := sign(preAuth(inToto, statement))
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{inToto, statement, []dsseSign{{Sig: signature}}})
}

// preAuth is DSSE's encoding of what is signed.
func preAuth(kind string, body []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(body), body)
}

// Attest writes statements about an artifact beside it. The keys are the types of
// their predicates.
func (l *Layout) Attest(a Artifact, statements []Statement, sign Signer) error {
	var layers []ocispec.Descriptor
	for _, s := range statements {
		body, err := json.Marshal(s)
		if err != nil {
			return err
		}
		e, err := Envelope(body, sign)
		if err != nil {
			return fmt.Errorf("attest %s: %w", a.Ref(), err)
		}
		d, err := l.Put(typeDSSE, e)
		if err != nil {
			return err
		}
		d.Annotations = map[string]string{signatureAnnotation: "", "predicateType": s.PredicateType}
		layers = append(layers, d)
	}
	return l.beside(a.Beside("att"), layers)
}

// Statement is an in-toto statement.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     any       `json:"predicate"`
}

// StatementType is the version of in-toto's statements.
const StatementType = "https://in-toto.io/Statement/v1"

// Subject is what a statement is about.
type Subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// Key verifies signatures.
type Key struct{ public crypto.PublicKey }

// ErrSignature means that a signature is not of the key over the content.
var ErrSignature = errors.New("the signature is not of the trusted key")

// ParseKey reads a public key: PEM, or the base64 of its DER, as it is compiled in.
func ParseKey(text []byte) (Key, error) {
	var der []byte
	if block, _ := pem.Decode(text); block != nil {
		if block.Type != "PUBLIC KEY" {
			return Key{}, fmt.Errorf("a PEM block %q, want PUBLIC KEY", block.Type)
		}
		der = block.Bytes
	} else {
		var err error
		if der, err = base64.StdEncoding.DecodeString(string(text)); err != nil {
			return Key{}, errors.New("not a public key in PEM")
		}
	}
	public, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return Key{}, fmt.Errorf("not a public key: %w", err)
	}
	switch public.(type) {
	case *ecdsa.PublicKey, *rsa.PublicKey:
		return Key{public}, nil
	}
	return Key{}, fmt.Errorf("a public key of kind %T, want ECDSA or RSA", public)
}

// Verify checks the signature over a message.
func (k Key) Verify(message, signature []byte) error {
	sum := sha256.Sum256(message)
	ok := false
	switch p := k.public.(type) {
	case *ecdsa.PublicKey:
		ok = ecdsa.VerifyASN1(p, sum[:], signature)
	case *rsa.PublicKey:
		ok = rsa.VerifyPKCS1v15(p, crypto.SHA256, sum[:], signature) == nil
	}
	if !ok {
		return ErrSignature
	}
	return nil
}

// VerifySignature checks that a manifest which lies beside an artifact as its
// signature has one of the key over the artifact's digest.
func (k Key) VerifySignature(manifest []byte, of digest.Digest, read func(digest.Digest) ([]byte, error)) error {
	layers, err := layersOf(manifest)
	if err != nil {
		return err
	}
	for _, d := range layers {
		message, err := read(d.Digest)
		if err != nil {
			return err
		}
		signature, err := base64.StdEncoding.DecodeString(d.Annotations[signatureAnnotation])
		if err != nil || k.Verify(message, signature) != nil {
			continue
		}
		var p payload
		if json.Unmarshal(message, &p) == nil && p.Critical.Type == payloadType && p.Critical.Image.Digest == of {
			return nil
		}
		return fmt.Errorf("the signature is of other content: %s", p.Critical.Image.Digest)
	}
	return ErrSignature
}

// VerifyAttestations checks every statement of a manifest that lies beside an
// artifact, its signature and its subject, and that none is missing which the list of
// the release names.
func (k Key) VerifyAttestations(manifest []byte, a Artifact, read func(digest.Digest) ([]byte, error)) error {
	layers, err := layersOf(manifest)
	if err != nil {
		return err
	}
	missing := slices.Clone(a.Attested)
	for _, d := range layers {
		data, err := read(d.Digest)
		if err != nil {
			return err
		}
		s, err := k.verifyEnvelope(data, a.Digest)
		if err != nil {
			return err
		}
		missing = slices.DeleteFunc(missing, func(kind string) bool { return kind == s.PredicateType })
	}
	if len(missing) > 0 {
		return Missing(missing)
	}
	return nil
}

// Missing is an error: statements of these types were taken away.
type Missing []string

func (m Missing) Error() string {
	return "the statement " + strings.Join(m, " and the statement ") + " is missing"
}

func (k Key) verifyEnvelope(data []byte, of digest.Digest) (*Statement, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("an attestation: %w", err)
	}
	if len(e.Signatures) != 1 || k.Verify(preAuth(e.PayloadType, e.Payload), e.Signatures[0].Sig) != nil {
		return nil, ErrSignature
	}
	var s Statement
	if err := json.Unmarshal(e.Payload, &s); err != nil {
		return nil, fmt.Errorf("an attestation: %w", err)
	}
	for _, subject := range s.Subject {
		if subject.Digest["sha256"] == of.Encoded() {
			return &s, nil
		}
	}
	return nil, errors.New("the attestation is of other content")
}

func layersOf(manifest []byte) ([]ocispec.Descriptor, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return nil, fmt.Errorf("a manifest: %w", err)
	}
	return m.Layers, nil
}
