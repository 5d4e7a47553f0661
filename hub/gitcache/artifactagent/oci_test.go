package artifactagent_test

import (
	"archive/tar"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/gitcache/artifactagent"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/tarball"
	"github.com/axle-cd/axle/test/chartserver"
	"github.com/axle-cd/axle/test/registryserver"
)

func newRegistry(t *testing.T) *registryserver.Server {
	t.Helper()
	s := registryserver.Start(false)
	t.Cleanup(s.Close)
	return s
}

func push(t *testing.T, s *registryserver.Server, path, tag string, a registryserver.Artifact) string {
	t.Helper()
	d, err := s.Push(path, tag, a)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func chartArtifact(name, version, values string) registryserver.Artifact {
	return registryserver.Artifact{ConfigType: registryserver.ChartConfig, Layers: []registryserver.Layer{
		{Type: registryserver.ChartLayer, Data: chartserver.Archive(name, version, map[string]string{"values.yaml": values})}}}
}

// folder packs files as tools pack a folder for a registry.
func folder(files ...string) []byte {
	var headers []tar.Header
	for i := 0; i < len(files); i += 2 {
		headers = append(headers, tar.Header{Name: files[i], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[i+1]))})
	}
	return chartserver.Pack(headers, func(h tar.Header) []byte {
		for i := 0; i < len(files); i += 2 {
			if files[i] == h.Name {
				return []byte(files[i+1])
			}
		}
		return nil
	})
}

func fluxArtifact(files ...string) registryserver.Artifact {
	return registryserver.Artifact{ConfigType: registryserver.FluxConfig,
		Annotations: map[string]string{"org.opencontainers.image.revision": "main@sha1:0123", "org.opencontainers.image.created": "2026-01-02T03:04:05Z"},
		Layers:      []registryserver.Layer{{Type: registryserver.FluxLayer, Data: folder(files...)}}}
}

func ociRepository(s *registryserver.Server, path string) record.Repository {
	return record.Repository{Kind: record.OCI, URL: s.URL(path), Options: record.Options{PlainHTTP: true}}
}

func TestAChartInARegistryIsFollowed(t *testing.T) {
	t.Parallel()
	s := newRegistry(t)
	push(t, s, "charts/app", "1.0.0", chartArtifact("app", "1.0.0", "one"))
	second := push(t, s, "charts/app", "1.1.0", chartArtifact("app", "1.1.0", "two"))
	push(t, s, "charts/app", "latest", chartArtifact("app", "1.1.0", "two"))
	w := newWorld(t, ociRepository(s, "charts"), record.Credentials{})
	ranged, exact, pinned := w.track("1.x.x", "app"), w.track("1.0.0", "app"), w.track(second, "app")
	h := w.revision(ranged, "1.1.0@"+second)
	want := map[string]string{"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.1.0\n", "values.yaml": "two"}
	if diff := cmp.Diff(want, w.files(h)); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	w.head(exact, "the exact version", func(h record.Head) bool { return strings.HasPrefix(h.Revision, "1.0.0@") })
	w.revision(pinned, second)
	if again, err := w.rebuild(h); err != nil || again["values.yaml"] != "two" {
		t.Errorf("rebuilt as %v, %v", again, err)
	}

	third := push(t, s, "charts/app", "1.2.0", chartArtifact("app", "1.2.0", "three"))
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	w.revision(ranged, "1.2.0@"+third)
	before := len(s.Requests(http.MethodGet, ""))
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Requests(http.MethodGet, "")[before:] {
		if !strings.HasSuffix(r.Path, "/tags/list") {
			t.Errorf("a poll without news read %s", r.Path)
		}
	}
}

func TestArtifactsOfPlainManifests(t *testing.T) {
	t.Parallel()
	file := func(title, text string) registryserver.Layer {
		return registryserver.Layer{Type: "application/yaml", Data: []byte(text), Annotations: map[string]string{"org.opencontainers.image.title": title}}
	}
	tests := map[string]struct {
		artifact registryserver.Artifact
		folder   string
		want     map[string]string
		entry    string
	}{
		"flux":        {artifact: fluxArtifact("a.yaml", "a: 1", "deploy/b.yaml", "b: 1"), want: map[string]string{"a.yaml": "a: 1", "deploy/b.yaml": "b: 1"}},
		"flux folder": {artifact: fluxArtifact("a.yaml", "a: 1", "./deploy/b.yaml", "b: 1"), folder: "deploy", entry: "deploy", want: map[string]string{"a.yaml": "a: 1", "deploy/b.yaml": "b: 1"}},
		"oras files": {artifact: registryserver.Artifact{ConfigType: "application/vnd.oci.empty.v1+json", Layers: []registryserver.Layer{file("a.yaml", "a: 1"), file("sub/b.yaml", "b: 1")}},
			want: map[string]string{"a.yaml": "a: 1", "sub/b.yaml": "b: 1"}},
		"oras folder": {artifact: registryserver.Artifact{ConfigType: "application/vnd.oci.empty.v1+json", Layers: []registryserver.Layer{
			{Type: "application/vnd.oci.image.layer.v1.tar+gzip", Data: folder("deploy/a.yaml", "a: 1"), Annotations: map[string]string{"org.opencontainers.image.title": "deploy", "io.deis.oras.content.unpack": "true"}}}},
			want: map[string]string{"deploy/a.yaml": "a: 1"}},
		"layers over each other": {artifact: registryserver.Artifact{ConfigType: "application/vnd.oci.image.config.v1+json", Layers: []registryserver.Layer{
			{Type: "application/vnd.oci.image.layer.v1.tar+gzip", Data: folder("a.yaml", "a: 1", "b.yaml", "b: 1")},
			{Type: "application/vnd.oci.image.layer.v1.tar+gzip", Data: folder("a.yaml", "a: 2")}}},
			want: map[string]string{"a.yaml": "a: 2", "b.yaml": "b: 1"}},
		"whiteouts of an image": {artifact: registryserver.Artifact{ConfigType: "application/vnd.oci.image.config.v1+json", Layers: []registryserver.Layer{
			{Type: "application/vnd.oci.image.layer.v1.tar+gzip", Data: folder("a.yaml", "a: 1", "b.yaml", "b: 1", "old/c.yaml", "c: 1")},
			{Type: "application/vnd.docker.image.rootfs.diff.tar.gzip", Data: folder(".wh.a.yaml", "", "old/.wh..wh..opq", "", "old/d.yaml", "d: 1")}}},
			want: map[string]string{"b.yaml": "b: 1", "old/d.yaml": "d: 1"}},
		"a name like a whiteout's": {artifact: registryserver.Artifact{ConfigType: "application/vnd.oci.empty.v1+json", Layers: []registryserver.Layer{
			{Type: "application/vnd.oci.image.layer.v1.tar+gzip", Data: folder("d/a.yaml", "a: 1", "d/.wh.b", "b: 1"), Annotations: map[string]string{"org.opencontainers.image.title": "d", "io.deis.oras.content.unpack": "true"}}}},
			want: map[string]string{"d/a.yaml": "a: 1", "d/.wh.b": "b: 1"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRegistry(t)
			push(t, s, "team/app", "v1", tt.artifact)
			w := newWorld(t, ociRepository(s, "team/app"), record.Credentials{})
			h := w.head(w.track("v1", tt.folder), "content", func(h record.Head) bool { return h.Digest != "" })
			if diff := cmp.Diff(tt.want, w.files(h)); diff != "" || h.Entry != tt.entry {
				t.Errorf("entry %q, content (-want +got):\n%s", h.Entry, diff)
			}
		})
	}
}

// TestIndexes has what builders and registries lay beside a chart or an artifact.
func TestIndexes(t *testing.T) {
	t.Parallel()
	s := newRegistry(t)
	image := registryserver.Artifact{ConfigType: "application/vnd.oci.image.config.v1+json", Layers: []registryserver.Layer{{Type: "application/vnd.oci.image.layer.v1.tar+gzip", Data: folder("a.yaml", "a: 1")}}}
	listed := func(path string, a registryserver.Artifact) registryserver.Listed {
		return registryserver.Listed{Digest: push(t, s, path, "", a)}
	}
	beside := func(path string) registryserver.Listed {
		l := listed(path, registryserver.Artifact{ConfigType: "application/vnd.oci.image.config.v1+json", Layers: []registryserver.Layer{{Type: "application/vnd.in-toto+json", Data: []byte("{}")}}})
		l.Annotations = map[string]string{"vnd.docker.reference.type": "attestation-manifest"}
		return l
	}
	w := newWorld(t, ociRepository(s, "team"), record.Credentials{})
	tests := map[string]struct {
		all  []registryserver.Listed
		want map[string]string
	}{
		"built":  {[]registryserver.Listed{listed("team/built", image), beside("team/built")}, map[string]string{"a.yaml": "a: 1"}},
		"chart":  {[]registryserver.Listed{listed("team/chart", image), listed("team/chart", chartArtifact("chart", "1.0.0", "v"))}, map[string]string{"Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n", "values.yaml": "v"}},
		"images": {[]registryserver.Listed{listed("team/images", image), listed("team/images", fluxArtifact("a.yaml", "a: 1"))}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := s.PushIndex("team/"+name, "v1", tt.all...); err != nil {
				t.Fatal(err)
			}
			source := w.track("v1", name)
			if tt.want == nil {
				w.failing(source, "an index of 2 manifests, as images have, without a chart")
				return
			}
			h := w.head(source, "content", func(h record.Head) bool { return h.Digest != "" })
			if diff := cmp.Diff(tt.want, w.files(h)); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLayersTogether has layers that are each within the limit.
func TestLayersTogether(t *testing.T) {
	t.Parallel()
	s := newRegistry(t)
	layer := func(name string) registryserver.Layer {
		return registryserver.Layer{Type: "application/vnd.oci.image.layer.v1.tar+gzip", Data: folder(name, strings.Repeat("x", 900))}
	}
	push(t, s, "team/app", "v1", registryserver.Artifact{ConfigType: "application/vnd.oci.image.config.v1+json", Layers: []registryserver.Layer{layer("a"), layer("b"), layer("c")}})
	w := newWorld(t, ociRepository(s, "team/app"), record.Credentials{}, func(c *artifactagent.Config) { c.Limits = tarball.Limits{Bytes: 2000} })
	w.failing(w.track("v1", ""), "more than 2000 bytes")
}

// TestLayersThatAreNotRead has a layer that nothing is unpacked of, with a size that would
// make room for more than the limit.
func TestLayersThatAreNotRead(t *testing.T) {
	t.Parallel()
	for size, refused := range map[int]string{-100_000: "a layer of -100000 bytes", 1 << 40: "more than 2000 bytes", math.MaxInt: "more than 2000 bytes"} {
		t.Run(refused, func(t *testing.T) {
			t.Parallel()
			s := newRegistry(t)
			// With the first one, the sum of the largest size is below zero.
			layers := []registryserver.Layer{{Type: "application/x-note", Data: []byte("first")}, {Type: "application/x-note", Data: []byte("note"), Size: size}}
			for _, title := range []string{"a.yaml", "b.yaml", "c.yaml"} {
				layers = append(layers, registryserver.Layer{Type: "application/yaml", Data: []byte(strings.Repeat(title, 150)), Annotations: map[string]string{"org.opencontainers.image.title": title}})
			}
			push(t, s, "team/app", "v1", registryserver.Artifact{ConfigType: "application/vnd.oci.empty.v1+json", Layers: layers})
			w := newWorld(t, ociRepository(s, "team/app"), record.Credentials{}, func(c *artifactagent.Config) { c.Limits = tarball.Limits{Bytes: 2000} })
			w.failing(w.track("v1", ""), refused)
			for _, r := range s.Requests(http.MethodGet, "") {
				if strings.Contains(r.Path, "/blobs/") {
					t.Errorf("a layer was read: %s", r.Path)
				}
			}
		})
	}
}

// TestATitleLeadsThroughNoLink has a file whose title is below a link of a layer before.
func TestATitleLeadsThroughNoLink(t *testing.T) {
	t.Parallel()
	s := newRegistry(t)
	push(t, s, "team/app", "v1", registryserver.Artifact{ConfigType: "application/vnd.oci.empty.v1+json", Layers: []registryserver.Layer{
		{Type: "application/vnd.oci.image.layer.v1.tar", Data: chartserver.Pack([]tar.Header{{Name: "a/b/up", Typeflag: tar.TypeSymlink, Linkname: "../.."}}, nil)},
		{Type: "application/yaml", Data: []byte("a: 1"), Annotations: map[string]string{"org.opencontainers.image.title": "a/b/up/c.yaml"}}}})
	w := newWorld(t, ociRepository(s, "team/app"), record.Credentials{})
	w.failing(w.track("v1", ""), "below a file or a link")
}

// TestTheNewestTag has tags that are no versions as Helm and Flux read them.
func TestTheNewestTag(t *testing.T) {
	t.Parallel()
	s := newRegistry(t)
	for _, tag := range []string{"1.0.0", "v1.1.0", "20240101", "1234567", "1.2", "latest"} {
		push(t, s, "charts/app", tag, chartArtifact("app", "1.0.0", tag))
	}
	push(t, s, "charts/old", "1.2", chartArtifact("old", "1.2.0", "1.2"))
	w := newWorld(t, ociRepository(s, "charts"), record.Credentials{})
	for want, source := range map[string]record.Source{"v1.1.0@": w.track("*", "app"), "1.2@": w.track("1.x", "old")} {
		w.head(source, want, func(h record.Head) bool { return strings.HasPrefix(h.Revision, want) })
	}
}

// TestFoldersThatAreNotThere: a folder that content lacks is the trouble of its own source,
// also where the content is that of a chart, which a service names again.
func TestFoldersThatAreNotThere(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]registryserver.Artifact{"app": chartArtifact("app", "1.0.0", "one"), "files": fluxArtifact("deploy/a.yaml", "a: 1")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRegistry(t)
			push(t, s, "team/"+name, "v1", a)
			w := newWorld(t, ociRepository(s, "team/"+name), record.Credentials{})
			wrong, right := w.track("v1", "app"), w.track("v1", "")
			w.head(right, "all of it", func(h record.Head) bool { return h.Digest != "" && h.Error == "" })
			w.failing(wrong, `has no folder "app"; if the repository's URL is that of a chart itself, name no chart`)
			before := len(s.Requests(http.MethodGet, ""))
			if err := w.refresh(); err != nil {
				t.Fatal(err)
			}
			for _, r := range s.Requests(http.MethodGet, "")[before:] {
				if strings.Contains(r.Path, "/blobs/") {
					t.Errorf("a poll without news read %s", r.Path)
				}
			}
			late := w.track("v1", "none")
			w.failing(late, `has no folder "none"`)
			if name == "files" {
				w.head(w.track("v1", "deploy"), "a folder", func(h record.Head) bool { return h.Digest != "" && h.Entry == "deploy" && h.Error == "" })
			}
		})
	}
}

func TestATagThatMoves(t *testing.T) {
	t.Parallel()
	s := newRegistry(t)
	first := push(t, s, "team/app", "prod", fluxArtifact("a.yaml", "a: 1"))
	w := newWorld(t, ociRepository(s, "team/app"), record.Credentials{})
	source := w.track("prod", "")
	h := w.revision(source, "prod@"+first)
	if h.Message != "from main@sha1:0123" || h.CommittedAt.Year() != 2026 {
		t.Errorf("head is %+v", h)
	}
	second := push(t, s, "team/app", "prod", fluxArtifact("a.yaml", "a: 2"))
	if err := w.refresh(); err != nil {
		t.Fatal(err)
	}
	w.revision(source, "prod@"+second)
	if err := s.Delete("team/app", "prod"); err != nil {
		t.Fatal(err)
	}
	if err := w.refresh(); err != nil {
		t.Errorf("a tag that is gone is its source's trouble alone: %v", err)
	}
	h = w.failing(source, "does not exist")
	if h.Revision != "prod@"+second || h.ErrorCode != errcode.Unprocessable {
		t.Errorf("head is %+v", h)
	}
}

func TestLoginToARegistry(t *testing.T) {
	t.Parallel()
	for name, basic := range map[string]bool{"token": false, "basic": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRegistry(t)
			digest := push(t, s, "team/app", "v1", fluxArtifact("a.yaml", "a: 1"))
			s.Require("ci", "secret-password", basic)
			s.Redirect()
			r := ociRepository(s, "team/app")
			r.Auth = record.AuthBasic
			w := newWorld(t, r, record.Credentials{Username: "ci", Password: "secret-password"})
			source := w.track("v1", "")
			w.revision(source, "v1@"+digest)
			s.Expire()
			if err := w.refresh(); err != nil {
				t.Errorf("with a token that ended: %v", err)
			}
			redirected := 0
			for _, r := range s.Requests(http.MethodGet, "") {
				if r.Elsewhere {
					redirected++
					if r.Authorization != "" {
						t.Errorf("credentials went elsewhere: %s", r.Path)
					}
				}
			}
			if redirected == 0 {
				t.Error("no blob was read elsewhere")
			}
			s.Require("ci", "another-password", basic)
			s.Expire()
			err := w.refresh()
			if !errcode.Is(err, errcode.Unauthorized) || strings.Contains(err.Error(), "secret-password") {
				t.Errorf("with a wrong password: %v", err)
			}
			if h := w.revision(source, "v1@"+digest); h.Digest == "" {
				t.Errorf("head is %+v", h)
			}
		})
	}
}
