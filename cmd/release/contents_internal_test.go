package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/axle-cd/axle/test/pages"
)

// checkImages looks at what is in the images, for each platform: the program that starts,
// as a user with no rights, authorities, git for the hub only, and no shell. make soak runs
// them.
func checkImages(t *testing.T, dir string) {
	for _, i := range images {
		var index ocispec.Index
		blob(t, dir, names(t, dir)["axle-cd/"+i.name+":1.4.2"], &index)
		if len(index.Manifests) == 0 {
			t.Errorf("%s has no platform", i.name)
		}
		for _, platform := range index.Manifests {
			var m ocispec.Manifest
			var config ocispec.Image
			blob(t, dir, platform, &m)
			blob(t, dir, m.Config, &config)
			if c := config.Config; c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/" + i.programs[0]}) {
				t.Errorf("%s starts %v as %s", i.name, c.Entrypoint, c.User)
			}
			files := layers(t, dir, m)
			for _, want := range append([]string{"etc/ssl/certs/ca-certificates.crt"}, i.programs...) {
				if h := files[want]; h == nil || h.Size == 0 {
					t.Errorf("%s lacks %s", i.name, want)
				} else if want[0] == 'a' && h.Mode&0o111 != 0o111 {
					t.Errorf("%s: %s has the mode %o", i.name, want, h.Mode)
				}
			}
			if git := files["usr/bin/git"] != nil; git != (i.name == "axle-hub") {
				t.Errorf("%s has git: %v", i.name, git)
			}
			for name := range files {
				if base := filepath.Base(name); base == "sh" || base == "bash" || base == "dash" || base == "busybox" {
					t.Errorf("%s has the shell %s", i.name, name)
				}
			}
		}
	}
}

// layers are the files of an image.
func layers(t *testing.T, dir string, m ocispec.Manifest) map[string]*tar.Header {
	t.Helper()
	files := map[string]*tar.Header{}
	for _, layer := range m.Layers {
		z, err := gzip.NewReader(bytes.NewReader(blob(t, dir, layer, nil)))
		if err != nil {
			t.Fatal(err)
		}
		r := tar.NewReader(z)
		for h, err := r.Next(); !errors.Is(err, io.EOF); h, err = r.Next() {
			if err != nil {
				t.Fatal(err)
			}
			files[strings.TrimPrefix(strings.TrimPrefix(h.Name, "./"), "/")] = h
		}
	}
	return files
}

// TestUnitsAreValid lets systemd read the unit of the package and that of the page, beside
// what they start, and finds nothing that it would ignore. make soak boots them.
func TestUnitsAreValid(t *testing.T) {
	m := newMachine(t, makePackages(t, "1.4.2"))
	m.must("dpkg", "--install", "/packages/axle-hub_1.4.2_amd64.deb")
	const page = "/etc/systemd/system/axle-hub.service"
	unit, err := pages.Blocks(filepath.Join(root, "docs/install/machine.md"), "ini")
	if err != nil || len(unit) != 1 {
		t.Fatalf("%d units, %v", len(unit), err)
	}
	m.must("useradd", "--system", "axle")
	m.must("install", "-m", "755", "/usr/bin/axle-hub", "/usr/local/bin/")
	for name, file := range map[string]string{"the package": "/usr/lib/systemd/system/axle-hub.service", "the page": page} {
		if file == page {
			m.write(page, unit[0].Text, 0o644)
		}
		if out := m.must("systemd-analyze", "verify", file); out != "" {
			t.Errorf("the unit of %s: %s", name, out)
		}
	}
}
