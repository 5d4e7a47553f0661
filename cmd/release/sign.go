package main

import (
	"bytes"
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/kms"

	"github.com/axle-cd/axle/cmd/release/debian"
	"github.com/axle-cd/axle/internal/release"
)

// The types of the statements beside images.
const (
	spdxPredicate       = "https://spdx.dev/Document"
	provenancePredicate = "https://slsa.dev/provenance/v1"
)

// useKey makes the plan sign: with a private key in a PEM file, whose password is in
// AXLE_RELEASE_KEY_PASSWORD, or with a key of a key management service. Its URL, such
// as awskms:///alias/release, names the program sigstore-kms-awskms, which speaks to it.
func (p *plan) useKey(ctx context.Context, key string) error {
	var s signature.SignerVerifier
	var err error
	if strings.Contains(key, "://") {
		s, err = kms.Get(ctx, key, crypto.SHA256)
	} else {
		password := os.Getenv("AXLE_RELEASE_KEY_PASSWORD")
		s, err = signature.LoadSignerVerifierFromPEMFile(key, crypto.SHA256, cryptoutils.StaticPasswordFunc([]byte(password)))
	}
	if err != nil {
		return fmt.Errorf("the release's key %s: %w", key, err)
	}
	public, err := s.PublicKey()
	if err != nil {
		return fmt.Errorf("the release's key %s: %w", key, err)
	}
	if p.publicKey, err = cryptoutils.MarshalPublicKeyToPEM(public); err != nil {
		return err
	}
	if _, err := release.ParseKey(p.publicKey); err != nil {
		return fmt.Errorf("the release's key %s: %w", key, err)
	}
	p.sign = func(message []byte) ([]byte, error) { return s.SignMessage(bytes.NewReader(message)) }
	return nil
}

// compiledKey is the public key in one word, as a linker flag takes it.
func compiledKey(text []byte) (string, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return "", errors.New("the public key is not PEM")
	}
	return base64.StdEncoding.EncodeToString(block.Bytes), nil
}

// signFiles writes a signature beside every file, and the provenance of all.
func (p *plan) signFiles(files []release.File, provenance any) error {
	s := release.Statement{Type: release.StatementType, PredicateType: provenancePredicate, Predicate: provenance}
	for _, f := range files {
		data, err := p.files().read(f.Name)
		if err != nil {
			return err
		}
		signed, err := p.sign(data)
		if err != nil {
			return fmt.Errorf("sign %s: %w", f.Name, err)
		}
		if err := p.files().put(f.Name+".sig", []byte(base64.StdEncoding.EncodeToString(signed)+"\n")); err != nil {
			return err
		}
		s.Subject = append(s.Subject, release.Subject{Name: f.Name, Digest: map[string]string{"sha256": f.Digest.Encoded()}})
	}
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	e, err := release.Envelope(body, p.sign)
	if err != nil {
		return err
	}
	if err := p.files().put("provenance.intoto.jsonl", append(e, '\n')); err != nil {
		return err
	}
	return p.files().put("release.pub", p.publicKey)
}

// signArtifacts writes signatures beside all artifacts, and statements beside
// images: what is in them, and what they were made from.
func (p *plan) signArtifacts(to *release.Layout, artifacts []release.Artifact, bills map[string][]byte, provenance any) error {
	for _, a := range artifacts {
		reference := p.registry + "/" + a.Repository
		if err := to.Sign(a, reference, p.sign); err != nil {
			return err
		}
		document := bills[a.Repository]
		if document == nil {
			continue
		}
		subject := []release.Subject{{Name: reference, Digest: map[string]string{"sha256": a.Digest.Encoded()}}}
		err := to.Attest(a, []release.Statement{
			{Type: release.StatementType, Subject: subject, PredicateType: spdxPredicate, Predicate: json.RawMessage(document)},
			{Type: release.StatementType, Subject: subject, PredicateType: provenancePredicate, Predicate: provenance},
		}, p.sign)
		if err != nil {
			return err
		}
	}
	return nil
}

// provenance is SLSA's predicate: the commit and the packages that everything was
// made from. It has no time of the build, so that equal builds say the same.
func (p *plan) provenance(lock *debian.Lock) any {
	type object = map[string]any
	sources := []object{{"uri": "git+https://github.com/axle-cd/axle@" + p.commit, "digest": object{"gitCommit": p.commit}}}
	for _, d := range lock.Packages {
		sources = append(sources, object{"uri": "pkg:deb/debian/" + d.Name + "@" + d.Version + "?arch=" + d.Arch, "digest": object{"sha256": d.SHA256}})
	}
	return object{
		"buildDefinition": object{
			"buildType":            "https://github.com/axle-cd/axle/make-release/v1",
			"externalParameters":   object{"version": p.version, "targets": fmt.Sprint(p.targets), "registry": p.registry, "downloads": p.downloads},
			"internalParameters":   object{"go": p.goVersion},
			"resolvedDependencies": sources,
		},
		"runDetails": object{"builder": object{"id": p.builder}},
	}
}
