package release

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Layout writes an OCI image layout into a folder. It is not safe for use by several
// goroutines.
type Layout struct {
	dir   string
	named []ocispec.Descriptor
}

// NewLayout begins a layout. The folder must be empty or not exist.
func NewLayout(dir string) (*Layout, error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &Layout{dir: dir}, os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o755)
}

// Put writes a blob.
func (l *Layout) Put(mediaType string, data []byte) (ocispec.Descriptor, error) {
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	return d, os.WriteFile(l.path(d.Digest), data, 0o644)
}

// PutJSON writes a blob of JSON.
func (l *Layout) PutJSON(mediaType string, v any) (ocispec.Descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return l.Put(mediaType, data)
}

// PutManifest writes a manifest, whose config and layers are there already.
func (l *Layout) PutManifest(artifactType string, config ocispec.Descriptor, layers []ocispec.Descriptor, annotations map[string]string) (ocispec.Descriptor, error) {
	d, err := l.PutJSON(ocispec.MediaTypeImageManifest, ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		ArtifactType: artifactType, Config: config, Layers: layers, Annotations: annotations})
	d.ArtifactType = artifactType
	return d, err
}

// PutIndex writes an index of manifests, such as one of a platform each.
func (l *Layout) PutIndex(manifests []ocispec.Descriptor, annotations map[string]string) (ocispec.Descriptor, error) {
	return l.PutJSON(ocispec.MediaTypeImageIndex, ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: manifests, Annotations: annotations})
}

// PutRelease writes the artifact that lists everything and has the files of a folder
// as layers, and names it.
func (l *Layout) PutRelease(r *Release, dir string, annotations map[string]string) (Artifact, error) {
	var layers []ocispec.Descriptor
	for _, f := range r.Files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil {
			return Artifact{}, err
		}
		d, err := l.Put(typeFile, data)
		if err != nil {
			return Artifact{}, err
		}
		d.Annotations = map[string]string{ocispec.AnnotationTitle: f.Name}
		layers = append(layers, d)
	}
	config, err := l.PutJSON(TypeRelease, r)
	if err != nil {
		return Artifact{}, err
	}
	m, err := l.PutManifest(TypeRelease, config, layers, annotations)
	if err != nil {
		return Artifact{}, err
	}
	a := Artifact{Repository: Repository, Tag: r.Version, Digest: m.Digest}
	l.Name(m, a.Ref())
	return a, nil
}

// Name gives a manifest a name: repository:tag.
func (l *Layout) Name(d ocispec.Descriptor, name string) {
	d.Annotations = map[string]string{ocispec.AnnotationRefName: name}
	l.named = append(l.named, d)
}

// Close writes the index of the names. Without it the folder is no layout.
func (l *Layout) Close() error {
	slices.SortFunc(l.named, func(a, b ocispec.Descriptor) int {
		return cmp.Compare(a.Annotations[ocispec.AnnotationRefName], b.Annotations[ocispec.AnnotationRefName])
	})
	index, err := json.Marshal(ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: l.named})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(l.dir, ocispec.ImageIndexFile), index, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.dir, ocispec.ImageLayoutFile), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644)
}

func (l *Layout) path(d digest.Digest) string {
	return filepath.Join(l.dir, "blobs", d.Algorithm().String(), d.Encoded())
}
