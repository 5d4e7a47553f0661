package helm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmloader "helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/tree"
)

// folder is a row of test/field/charts/folders.yaml.
type folder struct {
	Branch  string            `json:"branch"`
	Files   map[string]string `json:"files"`
	Archive bool              `json:"archive"`
	Helm    string            `json:"helm"`
	Axle    string            `json:"axle"`
	Differs bool              `json:"differs"`
	Why     string            `json:"why"`
}

// write lays the files of a row into a folder and into a tree.
func (f folder) write(t *testing.T, dir string) *tree.Tree {
	t.Helper()
	files := tree.New()
	if f.Files["Chart.yaml"] == "" {
		f.Files["Chart.yaml"] = "apiVersion: v2\nname: app\nversion: 1.0.0\n"
	}
	for name, text := range f.Files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		var errs error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			errs = errors.Join(os.Symlink(target, filepath.Join(dir, name)), files.Link(name, target))
		} else {
			content := []byte(text)
			if sub, ok := strings.CutPrefix(text, "packed "); ok {
				content = packed(t, sub)
			}
			errs = errors.Join(os.WriteFile(filepath.Join(dir, name), content, 0o600), files.Add(name, content))
		}
		if errs != nil {
			t.Fatal(errs)
		}
	}
	if err := files.Seal(); err != nil {
		t.Fatal(err)
	}
	return files
}

// packed is the archive of a chart.
func packed(t *testing.T, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for file, text := range map[string]string{"Chart.yaml": "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n", "templates/a.yaml": "x: 1"} {
		if err := w.WriteHeader(&tar.Header{Name: name + "/" + file, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// load is what Helm makes of the folder, up to where it installs a chart.
func (f folder) load(dir string) (*chart.Chart, error) {
	if f.Archive {
		var files []*archive.BufferedFile
		for name, text := range f.Files {
			files = append(files, &archive.BufferedFile{Name: name, Data: []byte(text)})
		}
		return loader.LoadFiles(files)
	}
	c, err := helmloader.LoadDir(dir)
	if err != nil {
		return nil, err
	}
	out, ok := c.(*chart.Chart)
	if !ok {
		return nil, errors.New("invalid chart apiVersion") // as pkg/action has it
	}
	return out, nil
}

// content is all of a chart that matters, with its subcharts'.
func content(c *chart.Chart) map[string]any {
	out := map[string]any{"name": c.Name(), "values": c.Values, "schema": string(c.Schema), "lock": c.Lock, "metadata": c.Metadata}
	for _, f := range c.Templates {
		out["template "+f.Name] = string(f.Data)
	}
	for _, f := range c.Files {
		out["file "+f.Name] = string(f.Data)
	}
	var subs []string
	for _, d := range c.Dependencies() {
		subs = append(subs, d.Name())
		out["chart "+d.Name()] = content(d)
	}
	slices.Sort(subs)
	out["charts"] = subs
	return out
}

// TestFoldersOfTheField loads every folder of test/field/charts as Helm and as the agent.
func TestFoldersOfTheField(t *testing.T) {
	text, err := os.ReadFile("../../test/field/charts/folders.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Rows []folder `json:"rows"`
	}
	if err := yaml.UnmarshalStrict(text, &all); err != nil || len(all.Rows) < 40 {
		t.Fatal(len(all.Rows), err)
	}
	is := func(t *testing.T, who, column string, err error) {
		t.Helper()
		if (column == "loads") != (err == nil) || err != nil && !strings.Contains(err.Error(), column) {
			t.Errorf("%s: %v; the row has %q", who, err, column)
		}
	}
	for _, row := range all.Rows {
		t.Run(row.Branch, func(t *testing.T) {
			dir := t.TempDir()
			files := row.write(t, dir)
			want, err := row.load(dir)
			is(t, "Helm", row.Helm, err)
			got, err := loadChart(files, ".")
			is(t, "axle", row.Axle, err)
			if (row.Differs || (row.Helm == "loads") != (row.Axle == "loads")) && row.Why == "" {
				t.Error("the columns differ, and the row has no reason")
			}
			if t.Failed() || row.Helm != "loads" || row.Axle != "loads" {
				return
			}
			if diff := cmp.Diff(content(want), content(got)); (diff != "") != row.Differs {
				t.Errorf("content (-Helm +axle):\n%s", diff)
			}
		})
	}
}
