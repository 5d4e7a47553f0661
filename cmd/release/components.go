package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/axle-cd/axle/internal/componentlist"
	"github.com/axle-cd/axle/internal/release"
)

// writeComponents makes the component files of Cluster API, and puts those of the committed
// list into one artifact, a layer each: a hub of this release installs exactly these bytes.
func (p *plan) writeComponents(ctx context.Context, to *release.Layout) (release.Artifact, error) {
	p.say("making the component files of Cluster API")
	list, err := os.ReadFile(filepath.Join(p.source, "deploy", componentlist.Path))
	if err != nil {
		return release.Artifact{}, err
	}
	all, err := componentlist.Parse(string(list))
	if err != nil {
		return release.Artifact{}, err
	}
	dir := filepath.Join(p.out, ".programs", "components")
	if _, err := p.run(ctx, append(toolEnv(), "GOWORK=off"), "go", "-C", "tools/capi", "run", ".", "components", "--out", dir); err != nil {
		return release.Artifact{}, err
	}
	var layers []ocispec.Descriptor
	for _, c := range all {
		data, err := os.ReadFile(filepath.Join(dir, c.File()))
		if err != nil {
			return release.Artifact{}, err
		}
		if made := digest.FromBytes(data); made.Encoded() != c.Digest {
			return release.Artifact{}, fmt.Errorf("%s is %s, and deploy/%s has %s: run go run . update in tools/capi, and review the difference", c.File(), made, componentlist.Path, c.Digest)
		}
		layer, err := to.Put(release.TypeComponent, data)
		if err != nil {
			return release.Artifact{}, err
		}
		layer.Annotations = map[string]string{ocispec.AnnotationTitle: c.File()}
		layers = append(layers, layer)
	}
	config, err := to.Put(ocispec.MediaTypeEmptyJSON, []byte("{}"))
	if err != nil {
		return release.Artifact{}, err
	}
	m, err := to.PutManifest(release.TypeComponents, config, layers, p.annotations("cluster-api"))
	if err != nil {
		return release.Artifact{}, err
	}
	a := release.Artifact{Repository: release.Components, Tag: p.version, Digest: m.Digest}
	to.Name(m, a.Ref())
	return a, nil
}
