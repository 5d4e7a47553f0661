package release_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/axle-cd/axle/internal/release"
)

// pair is a key as the product reads it, and what signs with it.
func pair(t *testing.T, private crypto.Signer) (release.Key, release.Signer) {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	key, err := release.ParseKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := release.ParseKey([]byte(base64.StdEncoding.EncodeToString(der))); err != nil {
		t.Errorf("as it is compiled in: %v", err)
	}
	return key, func(message []byte) ([]byte, error) {
		sum := sha256.Sum256(message)
		return private.Sign(rand.Reader, sum[:], crypto.SHA256)
	}
}

// TestSignaturesAreOfTheirArtifact signs two artifacts and puts what is true of one
// beside the other.
func TestSignaturesAreOfTheirArtifact(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	big, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, private := range map[string]crypto.Signer{"ECDSA": curve, "RSA": big} {
		t.Run(name, func(t *testing.T) {
			key, sign := pair(t, private)
			dir := filepath.Join(t.TempDir(), "oci")
			l, err := release.NewLayout(dir)
			if err != nil {
				t.Fatal(err)
			}
			one := release.Artifact{Repository: "one", Tag: "1", Digest: digest.FromString("one"), Attested: []string{"bill"}}
			other := digest.FromString("other")
			if err := l.Sign(one, "ghcr.io/one", sign); err != nil {
				t.Fatal(err)
			}
			s := release.Statement{Type: release.StatementType, PredicateType: "bill", Subject: []release.Subject{{Name: "one", Digest: map[string]string{"sha256": one.Digest.Encoded()}}}}
			if err := l.Attest(one, []release.Statement{s}, sign); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			read := func(d digest.Digest) ([]byte, error) {
				return os.ReadFile(filepath.Join(dir, "blobs", "sha256", d.Encoded()))
			}
			sig, att := manifest(t, dir, one.Beside("sig")), manifest(t, dir, one.Beside("att"))
			if err := key.VerifySignature(sig, one.Digest, read); err != nil {
				t.Error(err)
			}
			if err := key.VerifyAttestations(att, one, read); err != nil {
				t.Error(err)
			}
			more := one
			more.Attested = append(more.Attested, "provenance")
			if err := key.VerifyAttestations(att, more, read); err == nil || err.Error() != "the statement provenance is missing" {
				t.Errorf("without a statement of the list: %v", err)
			}
			if err := key.VerifySignature(sig, other, read); err == nil || !strings.Contains(err.Error(), "of other content") {
				t.Errorf("beside another artifact: %v", err)
			}
			if err := key.VerifyAttestations(att, release.Artifact{Digest: other}, read); err == nil || !strings.Contains(err.Error(), "of other content") {
				t.Errorf("a statement beside another artifact: %v", err)
			}
			stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			theirs, _ := pair(t, stranger)
			if err := theirs.VerifySignature(sig, one.Digest, read); !errors.Is(err, release.ErrSignature) {
				t.Errorf("with another key: %v", err)
			}
			if err := theirs.VerifyAttestations(att, one, read); !errors.Is(err, release.ErrSignature) {
				t.Errorf("a statement with another key: %v", err)
			}
		})
	}
}

func manifest(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index ocispec.Index
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	for _, m := range index.Manifests {
		if m.Annotations[ocispec.AnnotationRefName] == name {
			data, err := os.ReadFile(filepath.Join(dir, "blobs", "sha256", m.Digest.Encoded()))
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

func TestBadKeys(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"": "not a public key", "hello": "not a public key in PEM",
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n":       "want PUBLIC KEY",
		string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})): "want ECDSA or RSA",
	} {
		if _, err := release.ParseKey([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// FuzzParse reads lists of others: names that are accepted are safe as paths.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":"1","artifacts":[{"repository":"a/b","tag":"1","digest":"sha256:` + strings.Repeat("0", 64) + `"}],"files":[{"name":"x"}]}`))
	f.Add([]byte(`{"version":"1","artifacts":[{"repository":"../b","tag":"1"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := release.Parse(data)
		if err != nil {
			return
		}
		for _, file := range r.Files {
			if !filepath.IsLocal(file.Name) || strings.Contains(file.Name, "/") {
				t.Errorf("a file %q", file.Name)
			}
		}
		for _, a := range r.Artifacts {
			if !filepath.IsLocal(a.Repository) || strings.Contains(a.Tag, "/") {
				t.Errorf("an artifact %q", a.Ref())
			}
		}
	})
}
