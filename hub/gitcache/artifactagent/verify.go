package artifactagent

import (
	"context"
	"path"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/axle-cd/axle/hub/gitcache/upstream/cosign"
	"github.com/axle-cd/axle/hub/gitcache/upstream/provenance"
	"github.com/axle-cd/axle/internal/errcode"
)

// maxSignatures is how many signatures of one artifact are checked.
const maxSignatures = 20

// verify searches for a signature of a manifest by one of the trusted keys.
func (a *artifacts) verify(ctx context.Context, t target, d ocispec.Descriptor) error {
	v := a.repository.Options.Verify
	if v.Mode == "" || v.Mode == "provenance" {
		return nil
	}
	if v.Mode != "cosign" {
		return errcode.New(errcode.Unprocessable, "verification %q is not supported for registries; use cosign or provenance", v.Mode)
	}
	keys, err := cosign.ParseKeys(v.Keys)
	if err != nil {
		return errcode.New(errcode.Unprocessable, "%s", errcode.Message(err))
	}
	// People sign the digest that the tag names; for an index of one manifest,
	// that is the index's.
	asked, err := a.registry.Resolve(ctx, t.url, t.digest)
	if err != nil {
		return err
	}
	looked := 0
	for _, subject := range []ocispec.Descriptor{asked, d} {
		good, n, err := a.signed(ctx, t, subject, keys)
		if good || err != nil {
			return err
		}
		if looked += n; asked.Digest == d.Digest {
			break
		}
	}
	if looked == 0 {
		return errcode.New(errcode.Unprocessable, "artifact %s has no cosign signature; sign it with one of the trusted keys, or turn verification off", t.digest)
	}
	return errcode.New(errcode.Unprocessable, "none of the %d cosign signatures of artifact %s was made by a trusted key", looked, t.digest)
}

// signed checks the signatures of one manifest: under the tag that cosign
// derives from its digest, and among its referrers.
func (a *artifacts) signed(ctx context.Context, t target, subject ocispec.Descriptor, keys cosign.Keys) (good bool, looked int, err error) {
	var manifests []ocispec.Descriptor
	tag := strings.Replace(subject.Digest.String(), ":", "-", 1) + ".sig"
	switch d, err := a.registry.Resolve(ctx, t.url, tag); {
	case err == nil:
		manifests = append(manifests, d)
	case !errcode.Is(err, errcode.NotFound):
		return false, 0, err
	}
	referrers, err := a.registry.Referrers(ctx, t.url, subject, cosign.SignatureType,
		cosign.BundleType+".v0.3+json", cosign.BundleType+".v0.2+json", cosign.BundleType+".v0.1+json", cosign.BundleType+"+json;version=0.3")
	if err != nil {
		return false, 0, err
	}
	for i, d := range append(manifests, referrers...) {
		if i >= maxSignatures {
			break
		}
		good, some, err := a.signature(ctx, t, d, subject, keys)
		if good || err != nil {
			return good, looked, err
		}
		if some {
			looked++
		}
	}
	return false, looked, nil
}

// signature reports whether a manifest holds a valid signature, or any.
func (a *artifacts) signature(ctx context.Context, t target, d, subject ocispec.Descriptor, keys cosign.Keys) (good, some bool, err error) {
	m, err := a.registry.Manifest(ctx, t.url, d)
	if errcode.Is(err, errcode.Unprocessable) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	for i, layer := range m.Layers {
		bundle := strings.HasPrefix(layer.MediaType, cosign.BundleType)
		if i >= maxSignatures || !bundle && layer.MediaType != cosign.SimpleSigning {
			continue
		}
		some = true
		raw, err := a.registry.Bytes(ctx, t.url, layer)
		if err != nil {
			return false, true, err
		}
		if !bundle {
			good = keys.Simple(raw, layer.Annotations[cosign.SignatureAnnotation], subject.Digest.String())
		} else if signed, err := a.registry.ManifestBytes(ctx, t.url, subject); err != nil {
			return false, true, err
		} else {
			good = keys.Bundle(raw, signed, subject.Digest.String())
		}
		if good {
			return true, true, nil
		}
	}
	return false, some, nil
}

// provenance checks the signed file that Helm pushes beside a chart, where that
// is required.
func (a *artifacts) provenance(ctx context.Context, t target, m ocispec.Manifest, layer ocispec.Descriptor) error {
	v := a.repository.Options.Verify
	if v.Mode != "provenance" {
		return nil
	}
	for _, p := range m.Layers {
		if p.MediaType != provenanceLayer {
			continue
		}
		raw, err := a.registry.Bytes(ctx, t.url, p)
		if err != nil {
			return err
		}
		return checkProvenance(raw, v.Keys, provenance.Chart{Name: path.Base(t.url), SHA256: layer.Digest.Encoded()}, "chart "+t.url)
	}
	return errcode.New(errcode.Unprocessable, "chart %s %s has no provenance file; push it with helm package --sign, or turn verification off", t.url, t.digest)
}
