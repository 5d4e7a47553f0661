package story

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/node"
)

// Release is one that make release has written.
type Release struct {
	Version string
	// Dir is its folder, Client the command axle out of its archive, Key the public key
	// that it is signed with.
	Dir, Client, Key string
}

// Make makes releases of this checkout, one for each version, signed with one new key.
func Make(ctx context.Context, dir string, say func(string, ...any), versions ...string) ([]Release, error) {
	root, err := bin.Root()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	key := filepath.Join(dir, "release.key")
	if err := writeKey(key); err != nil {
		return nil, err
	}
	var made []Release
	for _, version := range versions {
		say("making release %s", version)
		out := filepath.Join(dir, version)
		c := exec.CommandContext(ctx, "go", "run", "./cmd/release", "make", "--dirty", "--targets", "linux/"+runtime.GOARCH,
			"--version", version, "--key", key, "--registry", node.Registry, "--out", out)
		c.Dir = root
		if text, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("make release %s: %w\n%s", version, err, text)
		}
		r := Release{Version: version, Dir: out, Client: filepath.Join(dir, "axle-"+version), Key: filepath.Join(out, "files", "release.pub")}
		archive := filepath.Join(out, "files", fmt.Sprintf("axle_%s_linux_%s.tar.gz", version, runtime.GOARCH))
		if err := unpack(archive, "axle", r.Client); err != nil {
			return nil, fmt.Errorf("take the command out of %s: %w", archive, err)
		}
		made = append(made, r)
	}
	return made, nil
}

// writeKey writes a new private key.
func writeKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}

// unpack writes one file of an archive.
func unpack(archive, name, to string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for entries := tar.NewReader(z); ; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("it has no %s", name)
		}
		if err != nil {
			return err
		}
		if h.Name != name {
			continue
		}
		out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, entries)
		return errors.Join(err, out.Close())
	}
}
