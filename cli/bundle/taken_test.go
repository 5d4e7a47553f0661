package bundle_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/axle-cd/axle/test/registryserver"
)

// TestTakenNames pushes where the names are taken: by other content, which is refused
// and named, by the same with a signature more, which stays, and by an older push.
func TestTakenNames(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	s, stranger := newSigner(t), newSigner(t)
	dir := newRelease(t, &s)
	server := registryserver.Start(false)
	defer server.Close()
	args := []string{"push", dir, server.Host(), "--plain-http", "--key", s.public}
	theirs := newRelease(t, &stranger)
	if _, errs, err := axle(t, "", "push", theirs, server.Host(), "--plain-http", "--key", stranger.public); err != nil {
		t.Fatal(err, errs)
	}
	writes := func() int {
		return len(server.Requests(http.MethodPut, "")) + len(server.Requests(http.MethodPost, ""))
	}
	before := writes()
	_, _, err := axle(t, "", args...)
	if err == nil || !strings.Contains(err.Error(), server.Host()+" has something else under names of this release") || !strings.Contains(err.Error(), "axle-cd/axle-hub:sha256-") || !strings.Contains(err.Error(), "--overwrite") {
		t.Errorf("signatures of somebody else: %v", err)
	}
	if writes() != before {
		t.Error("a refused push wrote")
	}
	if _, errs, err := axle(t, "", append(args, "--overwrite")...); err != nil {
		t.Fatal(err, errs)
	}
	// Somebody signs the image once more, beside our signature.
	image := manifest(t, dir, "axle-cd/axle-hub:1.4.2")
	name := "axle-cd/axle-hub:sha256-" + digest.FromBytes(image).Encoded() + ".sig"
	joined := both(t, manifest(t, dir, name), manifest(t, theirs, name))
	put(t, server.Host(), name, joined)
	if _, errs, err := axle(t, "", args...); err != nil {
		t.Fatal(err, errs)
	}
	if got := get(t, server.Host(), name); !bytes.Equal(got, joined) {
		t.Errorf("the second signature is gone:\n%s", got)
	}
	// An image of the same version and other content.
	put(t, server.Host(), "axle-cd/axle-hub:1.4.2", manifest(t, dir, "axle-cd/charts/axle:1.4.2"))
	if _, _, err := axle(t, "", args...); err == nil || !strings.Contains(err.Error(), "axle-cd/axle-hub:1.4.2 is sha256:") {
		t.Errorf("another image: %v", err)
	}
}

// manifest reads one of a folder by name.
func manifest(t *testing.T, dir, name string) []byte {
	t.Helper()
	var index ocispec.Index
	if err := json.Unmarshal(read(t, filepath.Join(dir, "oci", "index.json")), &index); err != nil {
		t.Fatal(err)
	}
	for _, m := range index.Manifests {
		if m.Annotations[ocispec.AnnotationRefName] == name {
			return read(t, filepath.Join(dir, "oci", "blobs", "sha256", m.Digest.Encoded()))
		}
	}
	t.Fatalf("no %s", name)
	return nil
}

// both joins two manifests of signatures, as cosign does when it signs again.
func both(t *testing.T, a, b []byte) []byte {
	t.Helper()
	var one, two ocispec.Manifest
	for data, m := range map[*[]byte]*ocispec.Manifest{&a: &one, &b: &two} {
		if err := json.Unmarshal(*data, m); err != nil {
			t.Fatal(err)
		}
	}
	one.Layers = append(one.Layers, two.Layers...)
	return marshal(t, one)
}

func put(t *testing.T, host, name string, data []byte) {
	t.Helper()
	repository, tag, _ := strings.Cut(name, ":")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+host+"/v2/"+repository+"/manifests/"+tag, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", ocispec.MediaTypeImageManifest)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		t.Fatal(answer.Status)
	}
}

func get(t *testing.T, host, name string) []byte {
	t.Helper()
	repository, tag, _ := strings.Cut(name, ":")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/v2/"+repository+"/manifests/"+tag, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
