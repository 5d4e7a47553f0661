// Command cosign verifies everything of a release with cosign's own library, as
// somebody does who has never heard of this project:
//
//	cosign FOLDER KEY
//
// FOLDER is what make release has written, KEY the public key in PEM. Each thing that
// is verified is one line; the first that is not ends it. The test of cmd/release calls
// it. It is a module of its own, because cosign brings some hundred others.
package main

import (
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	"github.com/sigstore/cosign/v3/pkg/oci"
	"github.com/sigstore/cosign/v3/pkg/oci/static"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: cosign FOLDER KEY")
		os.Exit(2)
	}
	if err := verify(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func verify(ctx context.Context, dir, keyFile string) error {
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	public, err := cryptoutils.UnmarshalPEMToPublicKey(text)
	if err != nil {
		return err
	}
	key, err := signature.LoadVerifier(public, crypto.SHA256)
	if err != nil {
		return err
	}
	if err := files(ctx, filepath.Join(dir, "files"), key); err != nil {
		return err
	}
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	names, err := publish(ctx, filepath.Join(dir, "oci"), server.Listener.Addr().String())
	if err != nil {
		return err
	}
	for _, r := range names {
		if !strings.HasPrefix(r.TagStr(), "sha256-") {
			if err := artifact(ctx, r, names, key); err != nil {
				return fmt.Errorf("%s: %w", r.RepositoryStr()+":"+r.TagStr(), err)
			}
		}
	}
	return nil
}

// offline are options for a key without the public log.
func offline(key signature.Verifier, claims func(oci.Signature, v1.Hash, map[string]any) error) *cosign.CheckOpts {
	return &cosign.CheckOpts{SigVerifier: key, IgnoreTlog: true, IgnoreSCT: true, Offline: true, ClaimVerifier: claims}
}

// files verifies the signature of each file, and that the provenance is of it.
func files(ctx context.Context, dir string, key signature.Verifier) error {
	provenance, err := os.ReadFile(filepath.Join(dir, "provenance.intoto.jsonl"))
	if err != nil {
		return err
	}
	statement, err := static.NewAttestation(provenance)
	if err != nil {
		return err
	}
	signed, err := filepath.Glob(filepath.Join(dir, "*.sig"))
	if err != nil {
		return err
	}
	for _, sig := range signed {
		file := strings.TrimSuffix(sig, ".sig")
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(sig)
		if err != nil {
			return err
		}
		s, err := static.NewSignature(data, strings.TrimSpace(string(text)))
		if err != nil {
			return err
		}
		if _, err := cosign.VerifyBlobSignature(ctx, s, offline(key, nil)); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		hash, _, err := v1.SHA256(strings.NewReader(string(data)))
		if err != nil {
			return err
		}
		if _, err := cosign.VerifyBlobAttestation(ctx, statement, hash, offline(key, cosign.IntotoSubjectClaimVerifier)); err != nil {
			return fmt.Errorf("the provenance of %s: %w", filepath.Base(file), err)
		}
		fmt.Println("file", filepath.Base(file))
	}
	return nil
}

// publish copies a layout into a registry under its names.
func publish(ctx context.Context, dir, host string) ([]name.Tag, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	all, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var names []name.Tag
	for _, d := range all.Manifests {
		ref, err := name.NewTag(host+"/"+d.Annotations["org.opencontainers.image.ref.name"], name.Insecure)
		if err != nil {
			return nil, err
		}
		if d.MediaType.IsIndex() {
			child, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, err
			}
			err = remote.WriteIndex(ref, child, remote.WithContext(ctx))
			if err != nil {
				return nil, fmt.Errorf("publish %s: %w", ref, err)
			}
		} else {
			child, err := index.Image(d.Digest)
			if err != nil {
				return nil, err
			}
			if err := remote.Write(ref, child, remote.WithContext(ctx)); err != nil {
				return nil, fmt.Errorf("publish %s: %w", ref, err)
			}
		}
		names = append(names, ref)
	}
	return names, nil
}

// artifact verifies an image or a chart by its tag, and the statements beside it.
func artifact(ctx context.Context, r name.Tag, names []name.Tag, key signature.Verifier) error {
	d, err := remote.Head(r, remote.WithContext(ctx))
	if err != nil {
		return err
	}
	found, _, err := cosign.VerifyImageSignatures(ctx, r, offline(key, cosign.SimpleClaimVerifier))
	if err != nil {
		return err
	}
	fmt.Println("signature", r.RepositoryStr(), len(found))
	beside := r.Tag("sha256-" + d.Digest.Hex + ".att")
	if !slices.ContainsFunc(names, func(n name.Tag) bool { return n.String() == beside.String() }) {
		return nil
	}
	statements, _, err := cosign.VerifyImageAttestations(ctx, r, offline(key, cosign.IntotoSubjectClaimVerifier))
	if err != nil {
		return err
	}
	for _, s := range statements {
		kind, err := predicate(s)
		if err != nil {
			return err
		}
		fmt.Println("statement", r.RepositoryStr(), kind)
	}
	return nil
}

// predicate is the type of a statement.
func predicate(s oci.Signature) (string, error) {
	data, err := s.Payload()
	if err != nil {
		return "", err
	}
	var envelope struct{ Payload string }
	if err := json.Unmarshal(data, &envelope); err != nil {
		return "", err
	}
	body, err := base64.StdEncoding.DecodeString(envelope.Payload)
	if err != nil {
		return "", err
	}
	var statement struct{ PredicateType string }
	err = json.Unmarshal(body, &statement)
	return statement.PredicateType, err
}
