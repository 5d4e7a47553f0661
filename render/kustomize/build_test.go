package kustomize_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/render/kustomize"
)

// keys are the built objects as "Kind name".
func keys(objects []manifest.Object) []string {
	var out []string
	for i := range objects {
		key := objects[i].Key("")
		out = append(out, key.Kind+" "+key.Name)
	}
	return out
}

func TestOrderOfTheBuild(t *testing.T) {
	files := map[string]string{
		"app/a.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
		"app/b.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n",
		"app/c.yaml": settings,
	}
	tests := map[string]struct {
		kustomization string
		want          []string
	}{
		"not said": {"resources: [a.yaml, b.yaml, c.yaml]\n", []string{"Namespace b", "ConfigMap settings", "Deployment a"}},
		"as named": {"sortOptions: {order: fifo}\nresources: [a.yaml, b.yaml, c.yaml]\n", []string{"Deployment a", "Namespace b", "ConfigMap settings"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files["app/kustomization.yaml"] = test.kustomization
			objects, _, err := kustomize.Render(kustomize.Request{Tree: seal(t, files), Dir: "app"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, keys(objects)); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFieldsThatStandTwiceAreNamed: Kustomize takes the last one, and what the first one made
// would be pruned.
func TestFieldsThatStandTwiceAreNamed(t *testing.T) {
	const made = "configMapGenerator:\n- {name: %s, literals: [a=b], options: {disableNameSuffixHash: true}}\n"
	objects, warnings, err := kustomize.Render(kustomize.Request{Dir: "app", Tree: seal(t, map[string]string{
		"app/kustomization.yaml": fmt.Sprintf(made, "one") + fmt.Sprintf(made, "two"),
	})})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ConfigMap two"}, keys(objects)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	want := []string{"app/kustomization.yaml:3: the field configMapGenerator stands here again; as with kustomize, the one of line 1 is left out"}
	if diff := cmp.Diff(want, manifest.PartsLeftOut(warnings)); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}

// TestNamesThatDisksAllow builds from folders and files whose names the
// library's own file system in memory refuses.
func TestNamesThatDisksAllow(t *testing.T) {
	objects, _, err := kustomize.Render(kustomize.Request{Dir: "overlays/1.21+ (new)", Tree: seal(t, map[string]string{
		"overlays/1.21+ (new)/kustomization.yaml": "resources: [../../base@v1]\nconfigMapGenerator:\n- name: made\n  files: [\"a+b (c).txt\"]\n  options: {disableNameSuffixHash: true}\n",
		"overlays/1.21+ (new)/a+b (c).txt":        "text\n",
		"base@v1/kustomization.yaml":              "resources: [\"x~1.yaml\"]\n",
		"base@v1/x~1.yaml":                        settings,
		"other/with:colon.yaml":                   "not read\n",
	})})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ConfigMap made", "ConfigMap settings"}, keys(objects)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// TestGeneratedValuesOfAnInflatedChart follows a value that a chart generates
// through the kustomization that inflates it.
func TestGeneratedValuesOfAnInflatedChart(t *testing.T) {
	rendered := 0
	objects, _, err := kustomize.Render(kustomize.Request{
		Dir: "app", EnableHelm: true,
		Tree: seal(t, map[string]string{
			"app/kustomization.yaml":     "namePrefix: my-\nhelmCharts:\n- name: x\n",
			"app/charts/x/Chart.yaml":    "name: x\nversion: 1.0.0\n",
			"app/charts/x/templates/a.y": "",
		}),
		Inflate: func(kustomize.Chart) ([]manifest.Object, error) {
			rendered++
			return []manifest.Object{{
				Data: map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"},
					"data": map[string]any{"fixed": "a", "random": fmt.Sprintf("value-%d", rendered)},
				},
				Volatile: []string{"/data/random"},
			}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 1 || objects[0].Key("").Name != "my-a" {
		t.Fatalf("got %v", keys(objects))
	}
	if diff := cmp.Diff([]string{"/data/random"}, objects[0].Volatile); diff != "" {
		t.Errorf("generated (-want +got):\n%s", diff)
	}
}
