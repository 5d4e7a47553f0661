package bundle_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/axle-cd/axle/test/registryserver"
)

// entry is a file of a bundle.
type entry struct {
	name string
	data []byte
}

func entries(t testing.TB, file string) []entry {
	t.Helper()
	var out []entry
	for r := tar.NewReader(bytes.NewReader(read(t, file))); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, entry{h.Name, data})
	}
}

func pack(t testing.TB, all []entry) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range all {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.data)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bundle.tar")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestAlteredBundle alters a bundle in each way and reads what verify says. Push
// refuses all of them before it asks the registry anything.
func TestAlteredBundle(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	s := newSigner(t)
	whole := filepath.Join(t.TempDir(), "whole.tar")
	must(t, "create", whole, "--from", newRelease(t, &s), "--key", s.public)
	other := newSigner(t)
	theirs := filepath.Join(t.TempDir(), "theirs.tar")
	must(t, "create", theirs, "--from", newRelease(t, &other), "--key", other.public)
	flip := func(marker string) func([]entry) []entry {
		return func(all []entry) []entry {
			for _, e := range all {
				if strings.HasPrefix(e.name, "blobs/") && bytes.HasPrefix(e.data, []byte(marker)) {
					e.data[len(e.data)/2] ^= 1
					return all
				}
			}
			t.Fatalf("no blob begins with %s", marker)
			return nil
		}
	}
	tests := map[string]struct {
		alter func([]entry) []entry
		want  string
	}{
		"a layer":     {flip("program for arm64"), "axle-cd/axle-hub:1.4.2 for linux/arm64, layer 1: it was altered"},
		"a chart":     {flip("a chart"), "axle-cd/charts/axle:1.4.2, layer 1: it was altered"},
		"a file":      {flip("the client"), "file axle_1.4.2_linux_amd64.tar.gz: it was altered"},
		"the list":    {flip(`{"version":"1.4.2"`), "the list of the release: it was altered"},
		"a signature": {flip(`{"critical"`), "its signature"},
		"a statement": {flip(`{"payloadType"`), "axle-cd/axle-hub:1.4.2, its attestations, layer"},
		"missing blob": {func(all []entry) []entry {
			return slices.DeleteFunc(all, func(e entry) bool { return bytes.HasPrefix(e.data, []byte("program for amd64")) })
		}, "axle-cd/axle-hub:1.4.2 for linux/amd64, layer 1: it is missing"},
		"its own key": {func(all []entry) []entry {
			return append(entries(t, theirs), entry{"release.pub", read(t, other.public)})
		}, "axle-cd/release:1.4.2, its signature: the signature is not of the trusted key"},
		"a stowaway": {func(all []entry) []entry {
			return append(all, entry{"blobs/sha256/" + strings.Repeat("0", 64), []byte("x")})
		}, "belongs to nothing that is signed"},
		"two of one name": {func(all []entry) []entry { return append(all, entry{"index.json", []byte(`{"manifests":[]}`)}) }, `"index.json" is no plain file, or there twice`},
		"an exchanged name": {func(all []entry) []entry {
			for n, e := range all {
				if e.name == "index.json" {
					all[n].data = swap(e.data, `"axle-cd/axle-hub:1.4.2"`, `"axle-cd/charts/axle:1.4.2"`)
				}
			}
			return all
		}, "axle-cd/axle-hub:1.4.2 was exchanged"},
		"an exchanged signature": {func(all []entry) []entry {
			for n, e := range all {
				if e.name == "index.json" {
					sigs := regexp.MustCompile(`"axle-cd/(axle-hub|charts/axle):sha256-[0-9a-f]+\.sig"`).FindAllString(string(e.data), 2)
					all[n].data = swap(e.data, sigs[0], sigs[1])
				}
			}
			return all
		}, "axle-cd/axle-hub:1.4.2, its signature: the signature is of other content"},
		"no statements": {func(all []entry) []entry {
			return withoutName(t, all, regexp.MustCompile(`^axle-cd/axle-hub:sha256-[0-9a-f]+\.att$`))
		}, "axle-cd/axle-hub:1.4.2, its attestations: the statement bill and the statement provenance is missing"},
		"one statement less": {withoutStatement(t), "axle-cd/axle-hub:1.4.2, its attestations: the statement provenance is missing"},
		"no signature": {func(all []entry) []entry {
			return withoutName(t, all, regexp.MustCompile(`^axle-cd/charts/axle:sha256-[0-9a-f]+\.sig$`))
		}, "axle-cd/charts/axle:1.4.2 is not signed"},
		"another version": {func(all []entry) []entry {
			for n, e := range all {
				if e.name == "index.json" {
					all[n].data = bytes.ReplaceAll(e.data, []byte("axle-cd/release:1.4.2"), []byte("axle-cd/release:9.9.9"))
				}
			}
			return all
		}, "the release is 1.4.2 by its contents and 9.9.9 by its name"},
		"no layout": {func([]entry) []entry { return []entry{{"photo.jpg", []byte("x")}} }, "it is no OCI layout"},
		"cut short": {nil, "is no bundle, or it is damaged"},
	}
	server := registryserver.Start(false)
	defer server.Close()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			file := ""
			if tc.alter == nil {
				file = filepath.Join(t.TempDir(), "cut.tar")
				if err := os.WriteFile(file, read(t, whole)[:1600], 0o644); err != nil {
					t.Fatal(err)
				}
			} else {
				file = pack(t, tc.alter(entries(t, whole)))
			}
			for _, args := range [][]string{{"verify", file, "--key", s.public}, {"push", file, server.Host(), "--plain-http", "--key", s.public}} {
				if _, _, err := axle(t, "", args...); err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%s: got %v, want %q", args[0], err, tc.want)
				}
			}
		})
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodHead, http.MethodGet} {
		if n := len(server.Requests(method, "")); n != 0 {
			t.Errorf("an altered bundle led to %d requests %s", n, method)
		}
	}
}

// withoutName takes a name out of the index, and what it leads to out of the bundle, as
// somebody would who wants it to go unnoticed.
func withoutName(t *testing.T, all []entry, name *regexp.Regexp) []entry {
	t.Helper()
	gone := map[string]bool{}
	for n, e := range all {
		if e.name != "index.json" {
			continue
		}
		var index ocispec.Index
		if err := json.Unmarshal(e.data, &index); err != nil {
			t.Fatal(err)
		}
		index.Manifests = slices.DeleteFunc(index.Manifests, func(d ocispec.Descriptor) bool {
			match := name.MatchString(d.Annotations[ocispec.AnnotationRefName])
			if match {
				gone["blobs/sha256/"+d.Digest.Encoded()] = true
				for _, l := range layersOf(t, all, d) {
					gone["blobs/sha256/"+l.Digest.Encoded()] = true
				}
			}
			return match
		})
		all[n].data = marshal(t, index)
	}
	if len(gone) < 2 {
		t.Fatalf("nothing is named like %s", name)
	}
	return slices.DeleteFunc(all, func(e entry) bool { return gone[e.name] })
}

func layersOf(t *testing.T, all []entry, d ocispec.Descriptor) []ocispec.Descriptor {
	t.Helper()
	for _, e := range all {
		if e.name == "blobs/sha256/"+d.Digest.Encoded() {
			var m ocispec.Manifest
			if err := json.Unmarshal(e.data, &m); err != nil {
				t.Fatal(err)
			}
			return append(m.Layers, m.Config)
		}
	}
	t.Fatalf("no %s", d.Digest)
	return nil
}

// withoutStatement takes the second statement away and mends everything that leads
// there, which nobody signs.
func withoutStatement(t *testing.T) func([]entry) []entry {
	return func(all []entry) []entry {
		for n, e := range all {
			var m ocispec.Manifest
			if !strings.HasPrefix(e.name, "blobs/") || json.Unmarshal(e.data, &m) != nil || len(m.Layers) != 2 || m.Layers[1].Annotations["predicateType"] == "" {
				continue
			}
			lost := "blobs/sha256/" + m.Layers[1].Digest.Encoded()
			m.Layers = m.Layers[:1]
			data := marshal(t, m)
			now := digest.FromBytes(data)
			all[n] = entry{"blobs/sha256/" + now.Encoded(), data}
			for k, i := range all {
				if i.name == "index.json" {
					var index ocispec.Index
					if err := json.Unmarshal(i.data, &index); err != nil {
						t.Fatal(err)
					}
					for j, d := range index.Manifests {
						if strings.HasSuffix(e.name, d.Digest.Encoded()) {
							index.Manifests[j].Digest, index.Manifests[j].Size = now, int64(len(data))
						}
					}
					all[k].data = marshal(t, index)
				}
			}
			return slices.DeleteFunc(all, func(e entry) bool { return e.name == lost })
		}
		t.Fatal("no statements")
		return nil
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func swap(data []byte, a, b string) []byte {
	return []byte(strings.NewReplacer(a, b, b, a).Replace(string(data)))
}
