package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

// image is one OCI image: programs on an empty file system.
type image struct {
	name     string
	programs []string
}

// images are what a release publishes. The agent's image includes its render child.
var images = []image{
	{"axle-hub", []string{"axle-hub"}},
	{"axle-agent", []string{"axle-agent", "axle-render", "axle-render-rare"}},
	{"axle", []string{"axle"}},
}

// The media types of the OCI image specification, version 1.1.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor names a blob of a layout.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    map[string]string `json:"platform,omitempty"`
}

func imagesCommand() *cobra.Command {
	var version, out, arch string
	c := &cobra.Command{
		Use:   "images",
		Short: "Write OCI image layouts of our programs, without Docker",
		Long: `Write OCI image layouts of our programs. skopeo copy oci:DIR docker://REF, or any
other tool that reads a layout, pushes them. Equal sources give equal bytes.`,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, i := range images {
				digest, err := i.write(c, filepath.Join(out, i.name), version, arch)
				if err != nil {
					return fmt.Errorf("image %s: %w", i.name, err)
				}
				fmt.Printf("%s/%s  %s:%s  %s\n", out, i.name, i.name, version, digest)
			}
			return nil
		},
	}
	c.Flags().StringVar(&version, "version", "dev", "tag of the images")
	c.Flags().StringVar(&out, "out", "dist/images", "folder for the layouts")
	c.Flags().StringVar(&arch, "arch", "amd64", "architecture: amd64 or arm64")
	return c
}

// write builds the programs and lays out the image.
func (i image) write(c *cobra.Command, dir, version, arch string) (string, error) {
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	blobs := filepath.Join(dir, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil {
		return "", err
	}
	layer, diff, err := i.layer(c, blobs, version, arch)
	if err != nil {
		return "", err
	}
	config, err := putJSON(blobs, typeConfig, map[string]any{
		"architecture": arch, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{"/" + i.programs[0]}, "User": "65532:65532", "Env": []string{"PATH=/"},
			"Labels": map[string]string{"org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{diff}},
	})
	if err != nil {
		return "", err
	}
	manifest, err := putJSON(blobs, typeManifest, map[string]any{"schemaVersion": 2, "mediaType": typeManifest, "config": config, "layers": []descriptor{layer}})
	if err != nil {
		return "", err
	}
	manifest.Annotations = map[string]string{"org.opencontainers.image.ref.name": version}
	manifest.Platform = map[string]string{"architecture": arch, "os": "linux"}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []descriptor{manifest}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "index.json"), index, 0o644); err != nil {
		return "", err
	}
	return manifest.Digest, os.WriteFile(filepath.Join(dir, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644)
}

// layer writes the programs as one gzipped tar without times or owners, and returns
// it with the digest of the uncompressed tar.
func (i image) layer(c *cobra.Command, blobs, version, arch string) (descriptor, string, error) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	plain := sha256.New()
	archive := tar.NewWriter(io.MultiWriter(zipped, plain))
	for _, dir := range []string{"tmp/", "var/lib/axle/"} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o1777, Format: tar.FormatPAX}); err != nil {
			return descriptor{}, "", err
		}
	}
	for _, program := range i.programs {
		data, err := compile(c, program, version, arch)
		if err != nil {
			return descriptor{}, "", err
		}
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: program, Mode: 0o755, Size: int64(len(data)), Format: tar.FormatPAX, ModTime: time.Unix(0, 0)}); err != nil {
			return descriptor{}, "", err
		}
		if _, err := archive.Write(data); err != nil {
			return descriptor{}, "", err
		}
	}
	if err := archive.Close(); err != nil {
		return descriptor{}, "", err
	}
	if err := zipped.Close(); err != nil {
		return descriptor{}, "", err
	}
	d, err := put(blobs, typeLayer, packed.Bytes())
	return d, "sha256:" + hex.EncodeToString(plain.Sum(nil)), err
}

// compile builds one program for linux and returns the file.
func compile(c *cobra.Command, program, version, arch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "axle-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(os.Stderr, "building %s for linux/%s\n", program, arch)
	build := exec.CommandContext(c.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X github.com/axle-cd/axle/internal/buildinfo.Version="+version, "-o", dir+"/"+program, "./cmd/"+program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return os.ReadFile(dir + "/" + program)
}

func putJSON(blobs, mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return descriptor{}, err
	}
	return put(blobs, mediaType, data)
}

// put writes a blob under its digest.
func put(blobs, mediaType string, data []byte) (descriptor, error) {
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	return descriptor{MediaType: mediaType, Digest: "sha256:" + name, Size: int64(len(data))}, os.WriteFile(filepath.Join(blobs, name), data, 0o644)
}
