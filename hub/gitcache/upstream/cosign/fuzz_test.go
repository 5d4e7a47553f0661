package cosign_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strconv"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/gitcache/upstream/cosign"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzSigned reads any text as a payload, a bundle and a statement, each with a good signature:
// what is signed is somebody's, and still none of them names the artifact but the one that does.
func FuzzSigned(f *testing.F) {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		f.Fatal(err)
	}
	keys, err := cosign.ParseKeys([]string{string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))})
	if err != nil {
		f.Fatal(err)
	}
	hex := strings.Repeat("ab", 32)
	for _, text := range []string{`{"critical":{"type":"cosign container image signature","image":{"docker-manifest-digest":"sha256:` + hex + `"}}}`,
		`{"predicateType":"https://sigstore.dev/cosign/sign/v1","subject":[{"digest":{"sha256":"` + hex + `"}},{},null]}`,
		`{"messageSignature":{"messageDigest":{"digest":""},"signature":"AAAA"}}`, `{"dsseEnvelope":{"payload":"!","signatures":[{},{}]}}`, `{"critical":[]}`, `[]`, `null`, ``} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		const kind = "application/vnd.in-toto+json"
		signed := ed25519.Sign(private, []byte("DSSEv1 "+strconv.Itoa(len(kind))+" "+kind+" "+strconv.Itoa(len(text))+" "+string(text)))
		envelope, err := json.Marshal(map[string]any{"dsseEnvelope": map[string]any{"payload": text, "payloadType": kind, "signatures": []any{map[string]any{"sig": signed}}}})
		if err != nil {
			t.Fatal(err)
		}
		simple := base64.StdEncoding.EncodeToString(ed25519.Sign(private, text))
		taken.Few(t, 8*len(text), func() {
			for _, digest := range []string{"sha256:" + hex, ""} {
				good := keys.Simple(text, simple, digest) || keys.Bundle(envelope, []byte("manifest"), digest)
				if keys.Bundle(text, []byte("manifest"), digest) {
					t.Errorf("%s signs a manifest", text)
				}
				if good && digest != "" && !strings.Contains(string(text), "ab") {
					t.Errorf("%s names %s", text, digest)
				}
			}
		})
	})
}
