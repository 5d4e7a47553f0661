package artifactagent_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/test/chartserver"
	"github.com/axle-cd/axle/test/registryserver"
)

func newKey(t *testing.T) (*ecdsa.PrivateKey, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func sign(t *testing.T, key *ecdsa.PrivateKey, message []byte) []byte {
	t.Helper()
	sum := sha256.Sum256(message)
	out, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// simple is a signature as cosign stores it.
func simple(t *testing.T, key *ecdsa.PrivateKey, digest string) registryserver.Artifact {
	t.Helper()
	payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, digest)
	return registryserver.Artifact{ConfigType: "application/vnd.oci.image.config.v1+json", Layers: []registryserver.Layer{
		{Type: "application/vnd.dev.cosign.simplesigning.v1+json", Data: payload,
			Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(sign(t, key, payload))}}}}
}

// bundle is a signature as a Sigstore bundle holds it.
func bundle(t *testing.T, key *ecdsa.PrivateKey, digest, predicate string) registryserver.Artifact {
	t.Helper()
	statement := fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q}`, strings.TrimPrefix(digest, "sha256:"), predicate)
	kind := "application/vnd.in-toto+json"
	signed := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(statement), statement)
	raw, err := json.Marshal(map[string]any{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
		"dsseEnvelope": map[string]any{"payload": statement, "payloadType": kind, "signatures": []any{map[string]any{"sig": sign(t, key, signed)}}}})
	if err != nil {
		t.Fatal(err)
	}
	return registryserver.Artifact{ConfigType: "application/vnd.oci.empty.v1+json", ArtifactType: "application/vnd.dev.sigstore.bundle.v0.3+json", Subject: digest,
		Layers: []registryserver.Layer{{Type: "application/vnd.dev.sigstore.bundle.v0.3+json", Data: raw}}}
}

// TestCosign checks that a head moves only to what a trusted key signed, for
// every way in which signatures are stored.
func TestCosign(t *testing.T) {
	t.Parallel()
	key, public := newKey(t)
	stranger, _ := newKey(t)
	sigTag := func(digest string) string { return strings.Replace(digest, ":", "-", 1) + ".sig" }
	const signPredicate = "https://sigstore.dev/cosign/sign/v1"
	tests := map[string]struct {
		sign func(t *testing.T, s *registryserver.Server, digest string)
		err  string
	}{
		"tag": {sign: func(t *testing.T, s *registryserver.Server, d string) {
			push(t, s, "team/app", sigTag(d), simple(t, key, d))
		}},
		"referrer": {sign: func(t *testing.T, s *registryserver.Server, d string) {
			a := simple(t, key, d)
			a.ArtifactType, a.Subject = "application/vnd.dev.cosign.artifact.sig.v1+json", d
			push(t, s, "team/app", "", a)
		}},
		"bundle": {sign: func(t *testing.T, s *registryserver.Server, d string) {
			push(t, s, "team/app", "", bundle(t, key, d, signPredicate))
		}},
		"second of two": {sign: func(t *testing.T, s *registryserver.Server, d string) {
			push(t, s, "team/app", sigTag(d), simple(t, stranger, d))
			push(t, s, "team/app", "", bundle(t, key, d, signPredicate))
		}},
		"none": {sign: func(*testing.T, *registryserver.Server, string) {}, err: "has no cosign signature"},
		"a stranger": {sign: func(t *testing.T, s *registryserver.Server, d string) {
			push(t, s, "team/app", sigTag(d), simple(t, stranger, d))
		}, err: "none of the 1 cosign signatures"},
		"for another": {sign: func(t *testing.T, s *registryserver.Server, d string) {
			push(t, s, "team/app", sigTag(d), simple(t, key, "sha256:"+strings.Repeat("0", 64)))
		}, err: "none of the 1"},
		"bundle for another": {sign: func(t *testing.T, s *registryserver.Server, d string) {
			b := bundle(t, key, "sha256:"+strings.Repeat("0", 64), signPredicate)
			b.Subject = d
			push(t, s, "team/app", "", b)
		}, err: "none of the 1"},
		"an attestation": {sign: func(t *testing.T, s *registryserver.Server, d string) {
			push(t, s, "team/app", "", bundle(t, key, d, "https://slsa.dev/provenance/v1"))
		}, err: "none of the 1"},
		"nonsense": {sign: func(t *testing.T, s *registryserver.Server, d string) {
			a := simple(t, key, d)
			a.Layers[0].Data = []byte("{")
			push(t, s, "team/app", sigTag(d), a)
		}, err: "none of the 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRegistry(t)
			first := push(t, s, "team/app", "prod", fluxArtifact("a.yaml", "a: 1"))
			push(t, s, "team/app", sigTag(first), simple(t, key, first))
			r := ociRepository(s, "team/app")
			r.Options.Verify = record.Verify{Mode: "cosign", Keys: []string{public}}
			w := newWorld(t, r, record.Credentials{})
			source := w.track("prod", "")
			w.revision(source, "prod@"+first)
			second := push(t, s, "team/app", "prod", fluxArtifact("a.yaml", "a: 2"))
			tt.sign(t, s, second)
			if err := w.refresh(); err != nil {
				t.Fatal(err)
			}
			if tt.err == "" {
				w.revision(source, "prod@"+second)
				return
			}
			if h := w.failing(source, tt.err); h.Revision != "prod@"+first {
				t.Errorf("head moved: %+v", h)
			}
			// Without the demand it moves.
			w.repo.Options.Verify = record.Verify{}
			if _, err := w.store.UpdateRepository(t.Context(), w.repo, nil); err != nil {
				t.Fatal(err)
			}
			if err := w.refresh(); err != nil {
				t.Fatal(err)
			}
			w.revision(source, "prod@"+second)
		})
	}
}

func newEntity(t *testing.T) (*openpgp.Entity, string) {
	t.Helper()
	e, err := openpgp.NewEntity("Maintainer", "", "maintainer@example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := armor.Encode(&b, openpgp.PublicKeyType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Serialize(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return e, b.String()
}

// provenance is the file that helm package --sign makes.
func provenance(t *testing.T, e *openpgp.Entity, name, version string, archive []byte) []byte {
	t.Helper()
	sum := sha256.Sum256(archive)
	var b bytes.Buffer
	w, err := clearsign.Encode(&b, e.PrivateKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(w, "apiVersion: v2\nname: %s\nversion: %s\n\n...\nfiles:\n  %s-%s.tgz: sha256:%s\n", name, version, name, version, hex.EncodeToString(sum[:]))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestProvenance(t *testing.T) {
	t.Parallel()
	good, public := newEntity(t)
	stranger, _ := newEntity(t)
	archive := chartserver.Archive("app", "2.0.0", map[string]string{"values.yaml": "two"})
	tests := map[string]struct {
		file []byte
		err  string
	}{
		"signed":          {file: provenance(t, good, "app", "2.0.0", archive)},
		"none":            {err: "has no provenance file"},
		"a stranger":      {file: provenance(t, stranger, "app", "2.0.0", archive), err: "not signed by a trusted key"},
		"another archive": {file: provenance(t, good, "app", "2.0.0", []byte("other")), err: "another SHA-256"},
		"another version": {file: provenance(t, good, "app", "1.9.0", archive), err: "is for chart app 1.9.0"},
		"another chart":   {file: provenance(t, good, "ape", "2.0.0", archive), err: "is for chart ape"},
		"altered":         {file: bytes.Replace(provenance(t, good, "app", "1.9.0", archive), []byte("1.9.0"), []byte("2.0.0"), 1), err: "not signed by a trusted key"},
		"no signature":    {file: []byte("name: app\nversion: 2.0.0\n"), err: "not signed in clear"},
		"more behind":     {file: append(provenance(t, good, "app", "2.0.0", archive), "name: evil\n"...), err: "text behind"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newCharts(t)
			first := chartserver.Archive("app", "1.0.0", nil)
			s.Publish(chartserver.Chart{Name: "app", Version: "1.0.0", Archive: first, Provenance: provenance(t, good, "app", "1.0.0", first)})
			w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL(), Options: record.Options{Verify: record.Verify{Mode: "provenance", Keys: []string{public}}}}, record.Credentials{})
			source := w.track("", "app")
			w.revision(source, "1.0.0")
			s.Publish(chartserver.Chart{Name: "app", Version: "2.0.0", Archive: archive, Provenance: tt.file})
			if err := w.refresh(); err != nil {
				t.Fatal(err)
			}
			if tt.err == "" {
				w.revision(source, "2.0.0")
				return
			}
			if h := w.failing(source, tt.err); h.Revision != "1.0.0" {
				t.Errorf("head moved: %+v", h)
			}
		})
	}
	t.Run("in a registry", func(t *testing.T) {
		t.Parallel()
		s := newRegistry(t)
		a := chartArtifact("app", "2.0.0", "two")
		bad := push(t, s, "charts/app", "1.0.0", a)
		a.Layers = append(a.Layers, registryserver.Layer{Type: registryserver.ProvenanceLayer, Data: provenance(t, good, "app", "2.0.0", a.Layers[0].Data)})
		signed := push(t, s, "charts/app", "2.0.0", a)
		r := ociRepository(s, "charts/app")
		r.Options.Verify = record.Verify{Mode: "provenance", Keys: []string{public}}
		w := newWorld(t, r, record.Credentials{})
		w.revision(w.track("2.x", ""), "2.0.0@"+signed)
		w.failing(w.track(bad, ""), "has no provenance file")
		// Nobody gets around the signature with a chart's files that are not pushed as a chart.
		files := push(t, s, "charts/app", "3.0.0", registryserver.Artifact{Layers: []registryserver.Layer{{Type: "application/vnd.oci.image.layer.v1.tar+gzip", Data: folder("Chart.yaml", "name: app\nversion: 3.0.0\n")}}})
		w.failing(w.track(files, ""), "is not a chart")
	})
}
