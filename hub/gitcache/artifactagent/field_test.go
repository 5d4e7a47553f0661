package artifactagent_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmarchive "helm.sh/helm/v4/pkg/chart/loader/archive"
	helmchart "helm.sh/helm/v4/pkg/chart/v2/loader"
	helmregistry "helm.sh/helm/v4/pkg/registry"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/hub/gitcache/artifactagent"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/internal/tarball"
	"github.com/axle-cd/axle/test/chartserver"
	"github.com/axle-cd/axle/test/registryserver"
)

// loads is the outcome of a row that is read.
const loads = "loads"

// outcome is what a row of test/field/charts has of both.
type outcome struct {
	Branch string `json:"branch"`
	Helm   string `json:"helm"`
	Axle   string `json:"axle"`
	Why    string `json:"why"`
}

// judge compares what Helm did with its column, and demands a reason where the columns differ.
func (o outcome) judge(t *testing.T, err error) {
	t.Helper()
	if o.Helm == loads && err != nil || o.Helm != loads && (err == nil || !strings.Contains(err.Error(), o.Helm)) {
		t.Errorf("Helm: %v; the row has %q", err, o.Helm)
	}
	if (o.Helm == loads) != (o.Axle == loads) && o.Why == "" {
		t.Error("the columns differ, and the row has no reason")
	}
}

// fieldRows reads a file of test/field/charts.
func fieldRows[T any](t *testing.T, file string, least int) []T {
	t.Helper()
	text, err := os.ReadFile("../../../test/field/charts/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Rows []T `json:"rows"`
	}
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Rows) < least {
		t.Fatalf("%d rows", len(all.Rows))
	}
	return all.Rows
}

// archived is a row of archives.yaml.
type archived struct {
	outcome
	Bare    bool `json:"bare"`
	Plain   bool `json:"plain"`
	Cut     int  `json:"cut"`
	Differs bool `json:"differs"`
	Entries []struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		To    string `json:"to"`
		Text  string `json:"text"`
		Size  int    `json:"size"`
		Chart bool   `json:"chart"`
	} `json:"entries"`
}

const chartYAML = "apiVersion: v2\nname: app\nversion: 1.0.0\n"

// pack makes the archive.
func (a archived) pack(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	write := func(h tar.Header, text string) {
		h.Mode, h.Size = 0o644, int64(len(text))
		if h.Typeflag == tar.TypeXGlobalHeader {
			h = tar.Header{Typeflag: h.Typeflag, Name: h.Name, PAXRecords: map[string]string{"comment": "x"}}
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if !a.Bare {
		write(tar.Header{Name: "app/Chart.yaml", Typeflag: tar.TypeReg}, chartYAML)
	}
	kinds := map[string]byte{"": tar.TypeReg, "folder": tar.TypeDir, "global": tar.TypeXGlobalHeader, "link": tar.TypeSymlink, "hard": tar.TypeLink, "device": tar.TypeChar}
	for _, e := range a.Entries {
		text := e.Text + strings.Repeat("x", e.Size)
		if e.Chart {
			text = chartYAML
		}
		write(tar.Header{Name: e.Name, Typeflag: kinds[e.Type], Linkname: e.To}, text)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if a.Plain {
		return b.Bytes()
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(b.Bytes())
	_ = z.Close()
	return packed.Bytes()[:packed.Len()-a.Cut]
}

// helmFiles are the files of an archive as Helm reads them, if it loads the chart.
func helmFiles(raw []byte) (map[string]string, error) {
	files, err := helmarchive.LoadArchiveFiles(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, f := range files {
		out[f.Name] = string(f.Data)
	}
	_, err = helmchart.LoadFiles(files)
	return out, err
}

// unmarked drops the byte order marks, as the agent does.
func unmarked(files map[string]string) map[string]string {
	for name, text := range files {
		files[name] = strings.TrimPrefix(text, "\ufeff")
	}
	return files
}

// TestArchivesOfTheField reads every archive of test/field/charts as Helm and as the hub.
func TestArchivesOfTheField(t *testing.T) {
	old := helmarchive.MaxDecompressedChartSize
	helmarchive.MaxDecompressedChartSize = 1 << 20
	t.Cleanup(func() { helmarchive.MaxDecompressedChartSize = old })
	rows := fieldRows[archived](t, "archives.yaml", 25)
	s := newCharts(t)
	for i, row := range rows {
		s.Publish(chartserver.Chart{Name: fmt.Sprintf("row-%d", i), Version: "1.0.0", Archive: row.pack(t)})
	}
	w := newWorld(t, record.Repository{Kind: record.Helm, URL: s.URL()}, record.Credentials{}, func(c *artifactagent.Config) { c.Limits = tarball.Limits{Bytes: 1 << 20} })
	sources := make([]record.Source, len(rows))
	for i := range rows {
		sources[i] = w.track("", fmt.Sprintf("row-%d", i))
	}
	for i, row := range rows {
		t.Run(row.Branch, func(t *testing.T) {
			want, err := helmFiles(row.pack(t))
			row.judge(t, err)
			w := w.in(t)
			if row.Axle != loads {
				w.failing(sources[i], row.Axle)
				return
			}
			got := unmarked(w.files(w.revision(sources[i], "1.0.0")))
			if diff := cmp.Diff(want, got); row.Helm == loads && (diff != "") != row.Differs {
				t.Errorf("content (-Helm +axle):\n%s", diff)
			}
		})
	}
}

// in is the world of a part of a test.
func (w *world) in(t *testing.T) *world {
	part := *w
	part.t = t
	return &part
}

// stored is a row of registries.yaml.
type stored struct {
	outcome
	Config  string   `json:"config"`
	Tag     string   `json:"tag"`
	Tags    []string `json:"tags"`
	Version string   `json:"version"`
	Index   []string `json:"index"`
	Differs bool     `json:"differs"`
	Layers  []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"layers"`
}

// push stores the artifact under its tags; each has content of its own.
func (r stored) push(t *testing.T, s *registryserver.Server, path string) {
	t.Helper()
	tag := r.Tag
	if tag == "" {
		tag = "1.0.0"
	}
	for _, tag := range append([]string{tag}, r.Tags...) {
		a := registryserver.Artifact{ConfigType: r.Config}
		if a.ConfigType == "" {
			a.ConfigType = registryserver.ChartConfig
		}
		for _, l := range r.Layers {
			data := []byte(l.Text)
			if l.Text == "" {
				data = chartserver.Archive("app", "1.0.0", map[string]string{"values.yaml": "tag: " + tag})
			}
			a.Layers = append(a.Layers, registryserver.Layer{Type: l.Type, Data: data})
		}
		if len(r.Index) == 0 {
			push(t, s, path, tag, a)
			continue
		}
		var all []registryserver.Listed
		for i, kind := range r.Index {
			one, notes := a, map[string]string(nil)
			if kind != "chart" {
				one = registryserver.Artifact{ConfigType: "application/vnd.oci.image.config.v1+json", Layers: []registryserver.Layer{{Type: "application/vnd.oci.image.layer.v1.tar+gzip", Data: folder("a", fmt.Sprint(i))}}}
			}
			if kind == "attestation" {
				notes = map[string]string{"vnd.docker.reference.type": "attestation-manifest"}
			}
			all = append(all, registryserver.Listed{Digest: push(t, s, path, "", one), Annotations: notes})
		}
		if _, err := s.PushIndex(path, tag, all...); err != nil {
			t.Fatal(err)
		}
	}
}

// pull is what Helm reads of a version of a chart.
func pull(ref, version string) (map[string]string, error) {
	client, err := helmregistry.NewClient(helmregistry.ClientOptPlainHTTP(), helmregistry.ClientOptWriter(io.Discard), helmregistry.ClientOptCredentialsFile(os.DevNull))
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(ref)
	if err != nil {
		return nil, err
	}
	_, u, err = client.ValidateReference(ref, version, u)
	if err != nil {
		return nil, err
	}
	got, err := client.Pull(strings.TrimPrefix(u.String(), "oci://"))
	if err != nil {
		return nil, err
	}
	return helmFiles(got.Chart.Data)
}

// TestRegistriesOfTheField reads every artifact of test/field/charts as Helm and as the hub.
func TestRegistriesOfTheField(t *testing.T) {
	rows := fieldRows[stored](t, "registries.yaml", 18)
	s := newRegistry(t)
	w := newWorld(t, ociRepository(s, "charts"), record.Credentials{})
	for i, row := range rows {
		t.Run(row.Branch, func(t *testing.T) {
			path := fmt.Sprintf("row-%d", i)
			row.push(t, s, "charts/"+path)
			version := row.Version
			if version == "" {
				version = "1.0.0"
			}
			want, err := pull(s.URL("charts/"+path), version)
			row.judge(t, err)
			w := w.in(t)
			source := w.track(version, path)
			if row.Axle != loads {
				w.failing(source, row.Axle)
				return
			}
			got := w.files(w.head(source, "content", func(h record.Head) bool { return h.Digest != "" && h.Error == "" }))
			if diff := cmp.Diff(want, got); row.Helm == loads && (diff != "") != row.Differs {
				t.Errorf("content (-Helm +axle):\n%s", diff)
			}
		})
	}
}
