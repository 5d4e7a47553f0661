package artifactagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/axle-cd/axle/hub/gitcache/upstream/archive"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
)

// Media types that determine how a layer is unpacked.
const (
	chartConfig = "application/vnd.cncf.helm.config.v1+json"
	chartLayer  = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	// oldChartLayer is what the first versions of Helm 3 pushed.
	oldChartLayer   = "application/tar+gzip"
	provenanceLayer = "application/vnd.cncf.helm.chart.provenance.v1.prov"
	// orasUnpack marks a layer that is a packed folder.
	orasUnpack = "io.deis.oras.content.unpack"
	// buildkitReference is what BuildKit writes at manifests about another one.
	buildkitReference = "vnd.docker.reference.type"
	maxLayers         = 100
	// maxManifests is how many manifests of an index are searched for a chart.
	maxManifests = 20
)

// fetch downloads the layers of an artifact, checks its signature where one is
// required, and unpacks it: a chart without its top folder, archives over each
// other, single files under their titles.
func (a *artifacts) fetch(ctx context.Context, t *target, dir string) error {
	d, err := a.descriptor(ctx, *t)
	if err != nil {
		return err
	}
	m, err := a.registry.Manifest(ctx, t.url, d)
	if err != nil {
		return err
	}
	complete(t, m.Annotations)
	if err := a.verify(ctx, *t, d); err != nil {
		return err
	}
	if len(m.Layers) > maxLayers {
		return errcode.New(errcode.Unprocessable, "artifact %s has %d layers; at most %d are allowed", t.digest, len(m.Layers), maxLayers)
	}
	if m.Config.MediaType == chartConfig {
		return a.chart(ctx, *t, m, dir)
	}
	if a.charts || a.repository.Options.Verify.Mode == "provenance" {
		return errcode.New(errcode.Unprocessable, "artifact %s is not a chart, and nothing else has a provenance file or is read from an index of charts; push it with helm push", t.digest)
	}
	limits := a.config.Limits
	if limits.Bytes == 0 {
		limits.Bytes = tarball.DefaultLimits.Bytes
	}
	var sum int64
	var unpacked tarball.Stats
	laid := 0
	for _, layer := range m.Layers {
		// A layer that is not read has a size of the registry's choice.
		if layer.Size < 0 {
			return errcode.New(errcode.Unprocessable, "artifact %s has a layer of %d bytes", t.digest, layer.Size)
		}
		if sum += layer.Size; sum > limits.Bytes || sum < 0 {
			return errcode.New(errcode.Unprocessable, "artifact %s has layers of more than %d bytes", t.digest, limits.Bytes)
		}
		ok, err := a.layer(ctx, *t, layer, dir, &unpacked)
		if err != nil {
			return err
		}
		if ok {
			laid++
		}
	}
	if laid == 0 {
		return errcode.New(errcode.Unprocessable, "artifact %s has nothing to unpack: no archive, and no layer with a title", t.digest)
	}
	return nil
}

// descriptor returns the manifest's descriptor; of an index, that of its one
// manifest or of its chart.
func (a *artifacts) descriptor(ctx context.Context, t target) (ocispec.Descriptor, error) {
	d, err := a.registry.Resolve(ctx, t.url, t.digest)
	if err != nil {
		return d, err
	}
	if d.MediaType != ocispec.MediaTypeImageIndex && d.MediaType != "application/vnd.docker.distribution.manifest.list.v2+json" {
		return d, nil
	}
	x, err := a.registry.Index(ctx, t.url, d)
	if err != nil {
		return d, err
	}
	// How an image was built is beside it, not in it.
	manifests := slices.DeleteFunc(slices.Clone(x.Manifests), func(m ocispec.Descriptor) bool { return m.Annotations[buildkitReference] != "" })
	if len(manifests) == 1 {
		return manifests[0], nil
	}
	// Helm takes a chart from among others.
	for i, m := range manifests {
		if i >= maxManifests {
			break
		}
		if got, err := a.registry.Manifest(ctx, t.url, m); err != nil {
			return d, err
		} else if got.Config.MediaType == chartConfig {
			return m, nil
		}
	}
	return d, errcode.New(errcode.Unprocessable, "%s is an index of %d manifests, as images have, without a chart; an artifact of plain manifests has one", t.digest, len(manifests))
}

// chart unpacks the one chart of a manifest.
func (a *artifacts) chart(ctx context.Context, t target, m ocispec.Manifest, dir string) error {
	for _, layer := range m.Layers {
		if layer.MediaType != chartLayer && layer.MediaType != oldChartLayer {
			continue
		}
		if t.promised != "" && t.promised != layer.Digest.Encoded() && "sha256:"+t.promised != t.digest {
			return unlikeIndex("chart "+t.url, layer.Digest.Encoded(), t.promised)
		}
		f, err := a.download(ctx, t, layer)
		if err != nil {
			return err
		}
		defer closeTemp(f)
		if err := a.provenance(ctx, t, m, layer); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return unpackChart(ctx, f, dir, "chart "+t.url, a.config)
	}
	return errcode.New(errcode.Unprocessable, "%s is declared as a chart but has no layer of type %s", t.digest, chartLayer)
}

// download fetches one layer into a temporary file.
func (a *artifacts) download(ctx context.Context, t target, layer ocispec.Descriptor) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Join(a.config.Dir, "tmp"), "layer-")
	if err != nil {
		return nil, err
	}
	if err = a.registry.Copy(ctx, t.url, layer, a.config.MaxDownload, f); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		closeTemp(f)
		return nil, err
	}
	return f, nil
}

func closeTemp(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// layer unpacks one layer, adds it to what is unpacked, and reports whether its
// type is supported.
func (a *artifacts) layer(ctx context.Context, t target, layer ocispec.Descriptor, dir string, unpacked *tarball.Stats) (bool, error) {
	title := layer.Annotations[ocispec.AnnotationTitle]
	packed := strings.Contains(layer.MediaType, ".tar") || strings.Contains(layer.MediaType, "/tar") || layer.Annotations[orasUnpack] == "true"
	if title == "" && !packed {
		return false, nil
	}
	f, err := a.download(ctx, t, layer)
	if err != nil {
		return false, err
	}
	defer closeTemp(f)
	// An archive that was pushed as a file stays a file.
	if packed && (title == "" || layer.Annotations[orasUnpack] == "true" || !named(title)) {
		o := archive.Options{Over: true, Whiteouts: title == "" && ofImage(layer), Before: *unpacked, Limits: a.config.Limits}
		if *unpacked, err = archive.Unpack(ctx, f, dir, o); err != nil {
			if errcode.Is(err, errcode.Unprocessable) {
				return false, errcode.New(errcode.Unprocessable, "layer %s: %w", layer.Digest, err)
			}
			return false, err
		}
		return true, nil
	}
	return true, place(f, dir, title)
}

// ofImage reports whether a layer is an image's, in which names may hide what
// lies below. A folder that ORAS packed has the same type and hides nothing.
func ofImage(layer ocispec.Descriptor) bool {
	return layer.Annotations[orasUnpack] != "true" &&
		(strings.HasPrefix(layer.MediaType, "application/vnd.oci.image.layer.") || strings.HasPrefix(layer.MediaType, "application/vnd.docker.image.rootfs."))
}

// named reports whether a title is that of an archive file, and not of the
// folder inside.
func named(title string) bool {
	for _, end := range []string{".tar", ".tgz", ".gz", ".zst"} {
		if strings.HasSuffix(title, end) {
			return true
		}
	}
	return false
}

// place stores a layer under its title.
func place(f io.Reader, dir, title string) error {
	if err := digest.NewPathSet().Add(title); err != nil {
		return errcode.New(errcode.Unprocessable, "a layer's title is refused: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := archive.CheckFolders(root, title, nil); err != nil {
		return errcode.New(errcode.Unprocessable, "a layer's title is refused: %w", err)
	}
	if folder := path.Dir(title); folder != "." {
		if err := root.MkdirAll(folder, 0o755); err != nil {
			return errcode.New(errcode.Unprocessable, "a layer's title %.200q lies beneath a file", title)
		}
	}
	_ = root.Remove(title)
	out, err := root.OpenFile(title, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return errcode.New(errcode.Unprocessable, "a layer's title %.200q is another's folder", title)
	}
	_, err = io.Copy(out, f)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("write layer: %w", err)
	}
	return nil
}
