package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/axle-cd/axle/cmd/release/debian"
	"github.com/axle-cd/axle/internal/release"
)

// image is one OCI image: programs on a base of Debian packages.
type image struct {
	name     string
	programs []string
	// packages are the names of the base, all of the lock if none are given.
	packages []string
}

// images are what a release publishes. The agent's image includes its render
// children.
var images = []image{
	{name: "axle", programs: []string{"axle"}, packages: []string{"ca-certificates"}},
	{name: "axle-agent", programs: []string{"axle-agent", "axle-render", "axle-render-rare"}, packages: []string{"ca-certificates"}},
	{name: "axle-hub", programs: []string{"axle-hub"}},
	{name: "axle-operator", programs: []string{"axle-operator"}, packages: []string{"ca-certificates"}},
}

// writeImages lays out every image as an index of platforms.
func (p *plan) writeImages(ctx context.Context, to *release.Layout, lock *debian.Lock) ([]release.Artifact, error) {
	bases := map[string]layer{}
	var out []release.Artifact
	for _, i := range images {
		var platforms []ocispec.Descriptor
		for _, arch := range p.linux() {
			packages, err := lock.For(arch, i.packages...)
			if err != nil {
				return nil, err
			}
			key := fmt.Sprint(arch, i.packages)
			if _, made := bases[key]; !made {
				p.say("composing the base of %s for %s from %d packages", i.name, arch, len(packages))
				tree, err := debian.Base(ctx, p.store, lock, packages)
				if err != nil {
					return nil, err
				}
				if bases[key], err = p.putLayer(to, tree); err != nil {
					return nil, err
				}
			}
			m, err := p.platform(to, i, arch, bases[key])
			if err != nil {
				return nil, fmt.Errorf("image %s for %s: %w", i.name, arch, err)
			}
			platforms = append(platforms, m)
		}
		index, err := to.PutIndex(platforms, p.annotations(i.name))
		if err != nil {
			return nil, err
		}
		a := release.Artifact{Repository: release.Prefix + i.name, Tag: p.version, Digest: index.Digest}
		if p.sign != nil {
			a.Attested = []string{spdxPredicate, provenancePredicate}
		}
		to.Name(index, a.Ref())
		out = append(out, a)
	}
	return out, nil
}

// platform writes the image of one architecture.
func (p *plan) platform(to *release.Layout, i image, arch string, base layer) (ocispec.Descriptor, error) {
	tree := debian.Tree{}
	for _, name := range i.programs {
		data, err := os.ReadFile(p.built[target{"linux", arch}][name])
		if err != nil {
			return ocispec.Descriptor{}, err
		}
		tree[name] = debian.Entry{Type: tar.TypeReg, Mode: 0o755, Data: data}
	}
	if i.name == "axle-hub" {
		// The hub serves the provider to Terraform on any machine.
		for _, dir := range []string{"usr/share/axle", "usr/share/axle/terraform"} {
			tree[dir] = debian.Entry{Type: tar.TypeDir, Mode: 0o755}
		}
		for _, t := range p.targets {
			data, err := providerZip(p, t)
			if err != nil {
				return ocispec.Descriptor{}, err
			}
			tree["usr/share/axle/terraform/"+providerName(p, t)] = debian.Entry{Type: tar.TypeReg, Mode: 0o644, Data: data}
		}
	}
	programs, err := p.putLayer(to, tree)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	platform := ocispec.Platform{OS: "linux", Architecture: arch}
	config, err := to.PutJSON(ocispec.MediaTypeImageConfig, ocispec.Image{
		Created: &p.when, Platform: platform,
		Config: ocispec.ImageConfig{
			Entrypoint: []string{"/" + i.programs[0]}, User: fmt.Sprintf("%d:%d", debian.User, debian.User), Labels: p.annotations(i.name),
			Env: []string{"PATH=/usr/bin:/", "HOME=/home/axle"}, WorkingDir: "/home/axle",
		},
		RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{base.plain, programs.plain}},
	})
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	m, err := to.PutManifest("", config, []ocispec.Descriptor{base.Descriptor, programs.Descriptor}, p.annotations(i.name))
	m.Platform = &platform
	return m, err
}

func (p *plan) annotations(name string) map[string]string {
	return map[string]string{
		ocispec.AnnotationTitle: name, ocispec.AnnotationVersion: p.version, ocispec.AnnotationRevision: p.commit, ocispec.AnnotationLicenses: "Apache-2.0",
		ocispec.AnnotationSource: "https://github.com/axle-cd/axle", ocispec.AnnotationCreated: p.when.Format("2006-01-02T15:04:05Z07:00"),
	}
}

// layer is a layer with the digest of its plain tar.
type layer struct {
	ocispec.Descriptor
	plain digest.Digest
}

func (p *plan) putLayer(to *release.Layout, tree debian.Tree) (layer, error) {
	var plain, packed bytes.Buffer
	if err := tree.Write(&plain, p.when); err != nil {
		return layer{}, err
	}
	z := packer(&packed)
	if _, err := z.Write(plain.Bytes()); err != nil {
		return layer{}, err
	}
	if err := z.Close(); err != nil {
		return layer{}, err
	}
	d, err := to.Put(ocispec.MediaTypeImageLayerGzip, packed.Bytes())
	return layer{d, digest.FromBytes(plain.Bytes())}, err
}
