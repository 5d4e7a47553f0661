package node

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/axle-cd/axle/internal/release"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/program"
)

// Guest is an image for pods: it waits, and with arguments serves them as a page on port
// 8080. It runs as user 65532 and needs no file system to write.
const Guest = Registry + "/" + guestName

const guestName = "axle-node/guest:1"

// startRegistry starts a registry on the host's end of the link, out of the node.
func (n *Node) startRegistry(ctx context.Context) error {
	path, err := exec.LookPath("docker-registry")
	if err != nil {
		return err
	}
	p, err := program.Start(n.path("programs"), path, []string{"serve", n.path("registry.yaml")})
	if err != nil {
		return err
	}
	n.parts = append(n.parts, p)
	return n.waitFor(ctx, p, func(ctx context.Context) error { return answers(ctx, "http://"+Registry+"/v2/") })
}

func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// pushGuest builds the guest and pushes its image.
func (n *Node) pushGuest(ctx context.Context) error {
	guest, err := n.build(ctx, "guest")
	if err != nil {
		return err
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := errors.Join(add(w, "guest", 0o755, guest), w.Close()); err != nil {
		return err
	}
	return n.push(ctx, guestName, layer.Bytes(), ocispec.ImageConfig{Entrypoint: []string{"/guest"}, User: "65532:65532"})
}

// build returns a program of this folder for an image.
func (n *Node) build(ctx context.Context, name string) ([]byte, error) {
	file, err := bin.Path(ctx, name, bin.Options{Package: "./test/node/" + name})
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// add adds a file to a layer.
func add(w *tar.Writer, name string, mode int64, content []byte) error {
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

// push puts an image of one layer into the registry.
func (n *Node) push(ctx context.Context, name string, layer []byte, c ocispec.ImageConfig) error {
	dir, err := os.MkdirTemp(n.dir, "image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	dir = filepath.Join(dir, "layout")
	to, err := release.NewLayout(dir)
	if err != nil {
		return err
	}
	content, err := to.Put(ocispec.MediaTypeImageLayer, layer)
	if err != nil {
		return err
	}
	config, err := to.PutJSON(ocispec.MediaTypeImageConfig, ocispec.Image{
		Platform: ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH}, Config: c,
		RootFS: ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{content.Digest}},
	})
	if err != nil {
		return err
	}
	manifest, err := to.PutManifest("", config, []ocispec.Descriptor{content}, nil)
	if err != nil {
		return err
	}
	to.Name(manifest, name)
	if err := to.Close(); err != nil {
		return err
	}
	from, err := oci.NewWithContext(ctx, dir)
	if err != nil {
		return err
	}
	reference := Registry + "/" + name
	repository, err := remote.NewRepository(reference)
	if err != nil {
		return err
	}
	repository.PlainHTTP = true
	if _, err := oras.Copy(ctx, from, name, repository, repository.Reference.Reference, oras.DefaultCopyOptions); err != nil {
		return fmt.Errorf("push %s: %w", reference, err)
	}
	return nil
}
