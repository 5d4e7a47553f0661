package kustomize_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/vendored"
	"github.com/axle-cd/axle/render/kustomize"
)

func encode(t *testing.T, c vendored.Contents) string {
	t.Helper()
	raw, err := vendored.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func names(objects []manifest.Object) (out []string) {
	for i := range objects {
		out = append(out, objects[i].Key("").String())
	}
	slices.Sort(out)
	return out
}

// TestVendoredBase holds that a remote base is the copy, that copies name each
// other, and that the service's own files are not touched.
func TestVendoredBase(t *testing.T) {
	const remote, second = "https://git.example.test/org/repo//base?ref=v1", "git.example.test/org/other//part?ref=v2"
	for name, at := range map[string]string{"root": "", "under a path": "apps/web/"} {
		t.Run(name, func(t *testing.T) {
			tree := seal(t, map[string]string{
				at + "over/prod/kustomization.yaml":                 "namePrefix: p-\nresources:\n- own.yaml\n- " + remote + "\n",
				at + "over/prod/own.yaml":                           strings.Replace(settings, "settings", "own", 1),
				at + vendored.Map:                                   encode(t, vendored.Contents{Bases: []vendored.Base{{Reference: remote, Path: ".axle/vendor/repo-1/base"}, {Reference: second, Path: ".axle/vendor/other-2/part"}}}),
				at + ".axle/vendor/repo-1/base/k.yaml":              strings.Replace(settings, "settings", "base", 1),
				at + ".axle/vendor/repo-1/base/kustomization.yaml":  "resources: [k.yaml]\ncomponents:\n- " + second + "\n",
				at + ".axle/vendor/other-2/part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [../../repo-1/deep]\n",
				at + ".axle/vendor/repo-1/deep/kustomization.yaml":  "resources: [d.yaml]\n",
				at + ".axle/vendor/repo-1/deep/d.yaml":              strings.Replace(settings, "settings", "deep", 1),
			})
			objects, _, err := kustomize.Render(kustomize.Request{Tree: tree, Dir: at + "over/prod"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range objects {
				metadata, _ := objects[i].Data["metadata"].(map[string]any)
				got = append(got, metadata["name"].(string))
			}
			slices.Sort(got)
			if diff := cmp.Diff([]string{"p-base", "p-deep", "p-own"}, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			// Without the map it is refused where it stands.
			_, _, err = kustomize.Render(kustomize.Request{Dir: "a", Tree: seal(t, map[string]string{"a/kustomization.yaml": "resources:\n- " + remote + "\n"})})
			var bad *manifest.Error
			if !errors.As(err, &bad) || bad.Line != 2 || !strings.Contains(bad.Message, "remote reference") {
				t.Errorf("without a copy: %v", err)
			}
		})
	}
}

// TestHostileMap holds that a map which someone committed leads nowhere but
// into the files.
func TestHostileMap(t *testing.T) {
	const remote = "https://git.example.test/org/repo?ref=v1"
	for name, text := range map[string]string{
		"escape":   "version: 1\nbases: [{reference: \"" + remote + "\", path: ../../etc}]\n",
		"absolute": "version: 1\nbases: [{reference: \"" + remote + "\", path: /etc}]\n",
		"no yaml":  "{{{",
		"newer":    "version: 9\n",
		"missing":  "version: 1\nbases: [{reference: \"" + remote + "\", path: nowhere}]\n",
		"itself":   "version: 1\nbases: [{reference: \"" + remote + "\", path: .}]\n",
	} {
		_, _, err := kustomize.Render(kustomize.Request{Dir: ".", Tree: seal(t, map[string]string{"kustomization.yaml": "resources: [\"" + remote + "\"]\n", vendored.Map: text})})
		var bad *manifest.Error
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInflate checks the inputs with which a kustomization's chart is rendered, and
// that its objects pass through the kustomization like others.
func TestInflate(t *testing.T) {
	chart := "name: x\nversion: 1.0.0\n"
	const repo = "https://charts.example.test"
	files := map[string]string{
		"app/kustomization.yaml": "namespace: away\nresources: [own.yaml]\nhelmGlobals: {chartHome: ../home}\nhelmCharts:\n" +
			"- {name: redis, repo: \"" + repo + "\", version: 1.2.3, releaseName: r, namespace: n, includeCRDs: true, valuesFile: v.yaml, valuesInline: {a: {b: inline}, l: [3]}, additionalValuesFiles: [w.yaml]}\n" +
			"- {name: nats, repo: \"oci://r.example.test/c\", version: \">=1\"}\n- {name: own}\n" +
			"- {name: m, valuesFile: v.yaml, valuesInline: {a: {b: inline, d: kept}}, valuesMerge: merge}\n",
		"app/own.yaml":                      strings.Replace(settings, "settings", "own", 1),
		"app/v.yaml":                        "a: {b: file, c: file}\nl: [1, 2]\n",
		"app/w.yaml":                        "a: {c: more}\n",
		"home/redis-1.2.3/redis/Chart.yaml": chart,
		"home/own/Chart.yaml":               chart,
		"home/m/Chart.yaml":                 chart,
		".axle/vendor/nats-1/Chart.yaml":    chart,
		vendored.Map:                        encode(t, vendored.Contents{Charts: []vendored.Chart{{Repository: "oci://r.example.test/c", Name: "nats", Version: ">=1", Path: ".axle/vendor/nats-1"}}}),
	}
	var asked []kustomize.Chart
	request := kustomize.Request{Tree: seal(t, files), Dir: "app", EnableHelm: true, Inflate: func(c kustomize.Chart) ([]manifest.Object, error) {
		asked = append(asked, c)
		objects, _, err := manifest.Decode("x", []byte(strings.Replace(settings, "settings", "of-"+c.Release, 1)))
		return objects, err
	}}
	objects, _, err := kustomize.Render(request)
	if err != nil {
		t.Fatal(err)
	}
	want := []kustomize.Chart{
		{Dir: "home/redis-1.2.3/redis", Release: "r", Namespace: "n", IncludeCRDs: true, Values: "a:\n    b: inline\n    c: more\nl:\n    - 3\n"},
		{Dir: ".axle/vendor/nats-1", Release: "nats"},
		{Dir: "home/own", Release: "own"},
		{Dir: "home/m", Release: "m", Values: "a:\n    b: file\n    c: file\n    d: kept\nl:\n    - 1\n    - 2\n"},
	}
	if diff := cmp.Diff(want, asked, cmp.Comparer(func(a, b string) bool {
		return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
	})); diff != "" {
		t.Errorf("charts (-want +got):\n%s", diff)
	}
	if len(objects) != 5 {
		t.Fatalf("objects %v", names(objects))
	}
	for i := range objects {
		if metadata, _ := objects[i].Data["metadata"].(map[string]any); metadata["namespace"] != "away" {
			t.Errorf("%v did not go through the kustomization", metadata)
		}
	}
	for name, tt := range map[string]struct{ entry, want string }{
		"no copy":     {"{name: gone, repo: \"" + repo + "\", version: 9.9.9}", "no copy of it"},
		"no name":     {"{repo: x}", "not a chart with a name"},
		"no values":   {"{name: own, valuesFile: ../../etc/passwd}", "not among the files"},
		"wrong merge": {"{name: own, valuesMerge: sometimes}", "valuesMerge"},
	} {
		files["app/kustomization.yaml"] = "helmGlobals: {chartHome: ../home}\nhelmCharts:\n- " + tt.entry + "\n"
		request.Tree = seal(t, files)
		_, _, err := kustomize.Render(request)
		var bad *manifest.Error
		if !errors.As(err, &bad) || bad.Line != 3 || bad.File != "app/kustomization.yaml" || !strings.Contains(bad.Message, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
