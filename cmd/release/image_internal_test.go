//go:build soak

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"github.com/axle-cd/axle/cmd/release/debian"
	"github.com/axle-cd/axle/internal/release"
	"github.com/axle-cd/axle/test/gitserver"
)

// TestImagesRun unpacks the images of the real hub and agent and runs what is in them,
// as their user, with nothing else of this machine in reach.
func TestImagesRun(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("needs root, because it runs programs in a root of their own: sudo env PATH=$PATH go test ./cmd/release -run TestImagesRun")
	}
	arch := "amd64"
	p := &plan{source: root, out: t.TempDir(), version: "1.4.2", commit: "8cffb5d0", when: time.Unix(1700000000, 0).UTC(), targets: []target{{"linux", arch}}, built: map[target]map[string]string{}, say: t.Logf}
	var err error
	if p.store, err = packageStore(os.Getenv("AXLE_DEBIAN_MIRROR")); err != nil {
		t.Fatal(err)
	}
	if err := p.build(t.Context(), p.targets[0], []string{"axle-hub", "axle-agent"}); err != nil {
		t.Fatal(err)
	}
	// The other programs have the same base as the agent.
	for _, name := range p.targets[0].programs() {
		if p.built[p.targets[0]][name] == "" {
			p.built[p.targets[0]][name] = p.built[p.targets[0]]["axle-agent"]
		}
	}
	lock, err := debian.ReadLock(filepath.Join(root, lockFile))
	if err != nil {
		t.Fatal(err)
	}
	to, err := release.NewLayout(filepath.Join(p.out, "oci"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.writeImages(t.Context(), to, lock); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}

	server, err := gitserver.Start(t.Context(), gitserver.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := server.Create(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Commit(t.Context(), "fleet", "main", "a", map[string]gitserver.Content{"a.yaml": "a: 1\n"}); err != nil {
		t.Fatal(err)
	}

	hub := unpackImage(t, p.out, "axle-cd/axle-hub:1.4.2")
	if out := hub.run(t, "/axle-hub", "version"); !strings.Contains(out, "1.4.2") || !strings.Contains(out, "8cffb5d0") {
		t.Errorf("axle-hub version says %q", out)
	}
	hub.run(t, "/usr/bin/git", "clone", "-q", server.URL("fleet"), "/var/lib/axle/fleet")
	if got := read(t, filepath.Join(hub.dir, "var/lib/axle/fleet/a.yaml")); got != "a: 1\n" {
		t.Errorf("git cloned %q", got)
	}
	agent := unpackImage(t, p.out, "axle-cd/axle-agent:1.4.2")
	if out := agent.run(t, "/axle-agent", "version"); !strings.Contains(out, "1.4.2") {
		t.Errorf("axle-agent version says %q", out)
	}
	for _, i := range []rootFS{hub, agent} {
		if roots := read(t, filepath.Join(i.dir, "etc/ssl/certs/ca-certificates.crt")); strings.Count(roots, "BEGIN CERTIFICATE") < 100 {
			t.Errorf("an image has %d certificate authorities", strings.Count(roots, "BEGIN CERTIFICATE"))
		}
	}
}

// rootFS is an unpacked image.
type rootFS struct {
	dir    string
	config ocispec.ImageConfig
}

func unpackImage(t *testing.T, release, name string) rootFS {
	t.Helper()
	var index ocispec.Index
	var m ocispec.Manifest
	var config ocispec.Image
	blob(t, release, names(t, release)[name], &index)
	blob(t, release, index.Manifests[0], &m)
	blob(t, release, m.Config, &config)
	dir := t.TempDir()
	// Everybody may pass through the folders above; only root writes here.
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range m.Layers {
		z, err := gzip.NewReader(bytes.NewReader(blob(t, release, l, nil)))
		if err != nil {
			t.Fatal(err)
		}
		unpackLayer(t, dir, tar.NewReader(z))
	}
	if err := os.MkdirAll(filepath.Join(dir, "dev"), 0o755); err != nil {
		t.Fatal(err)
	}
	// What a container has of /dev, as far as git needs it.
	for name, minor := range map[string]uint32{"null": 3, "urandom": 9} {
		node := filepath.Join(dir, "dev", name)
		if err := unix.Mknod(node, unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor))); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(node, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return rootFS{dir, config.Config}
}

func unpackLayer(t *testing.T, dir string, r *tar.Reader) {
	t.Helper()
	for {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name, mode := filepath.Join(dir, h.Name), os.FileMode(h.Mode&0o777)
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(name, mode)
			if h.Mode&0o1000 != 0 {
				mode |= os.ModeSticky
			}
			if err == nil {
				err = os.Chmod(name, mode)
			}
		case tar.TypeReg:
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(name, data, mode)
			}
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, name)
		case tar.TypeLink:
			err = os.Link(filepath.Join(dir, h.Linkname), name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a program of the image as the image says.
func (r rootFS) run(t *testing.T, args ...string) string {
	t.Helper()
	if r.config.User != "65532:65532" {
		t.Errorf("the image runs as %s", r.config.User)
	}
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	c.Env, c.Dir = r.config.Env, r.config.WorkingDir
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: r.dir, Credential: &syscall.Credential{Uid: debian.User, Gid: debian.User}}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v in the image: %v\n%s", args, err, out)
	}
	return string(out)
}
