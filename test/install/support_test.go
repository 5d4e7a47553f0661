package install_test

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// support writes a support bundle with what the cluster knows of the hub.
func (b *bed) support() {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "bundle.tar.gz")
	b.must("hub", "support-bundle", "--kubeconfig", b.Kubeconfig(), "--file", file)
	f, err := os.Open(file)
	if err != nil {
		b.t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		b.t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(unpacked); ; {
		header, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			b.t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			b.t.Fatal(err)
		}
		files[strings.TrimPrefix(header.Name, "axle-support/")] = string(text)
	}
	for name, says := range map[string]string{
		"cluster/version.json": `"gitVersion"`, "cluster/pods.json": "axle-0", "cluster/events.json": "{", "cluster/volumes.json": "data-axle-0",
		"cluster/pods/axle-0/hub.log": "hub runs", "hub/clusters.json": "mgmt",
	} {
		if !strings.Contains(files[name], says) {
			b.t.Errorf("%s does not have %q: %.300s; left out: %s", name, says, files[name], files["errors.txt"])
		}
	}
	if strings.Contains(files["errors.txt"], "internal error") {
		b.t.Errorf("what was left out does not say why: %s", files["errors.txt"])
	}
}
