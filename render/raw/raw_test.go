package raw_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
	"github.com/axle-cd/axle/render/raw"
)

func named(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

func seal(t *testing.T, files map[string]string) *tree.Tree {
	t.Helper()
	out := tree.New()
	for name, text := range files {
		if err := out.Add(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Seal(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhichFilesCount(t *testing.T) {
	tests := map[string]struct {
		files  map[string]string
		dir    string
		except []string
		want   []string
		warns  []string
	}{
		"yaml, yml and json of all folders": {
			files: map[string]string{"a.yaml": named("a"), "b/c.yml": named("c"), "b/d/e.json": `{"apiVersion":"v1","kind":"A","metadata":{"name":"e"}}`, "f.txt": "x", "g": "x"},
			want:  []string{"a", "c", "e"},
		},
		"only the folder": {
			files: map[string]string{"app/a.yaml": named("a"), "app-b/b.yaml": named("b"), "c.yaml": named("c")},
			dir:   "app", want: []string{"a"},
		},
		"hidden": {
			files: map[string]string{".a.yaml": named("a"), ".git/b.yaml": named("b"), "c/.d/e.yaml": named("e"), "f.yaml": named("f")},
			want:  []string{"f"},
		},
		"templates of something": {
			files:  map[string]string{"a.yaml.liquid": named("a"), "b.liquid": named("b"), "c/d.liquid": "x", "e.txt.liquid": "x", ".f.liquid": "x", "web/Chart.yaml": "", "web/g.liquid": "x", "other/h.liquid": "x"},
			except: []string{"other"}, want: []string{"a"},
			warns: []string{"b.liquid: left out, because its name", "c/d.liquid: left out", "left out: web: the folder is a Helm chart"},
		},
		"charts inside": {
			files: map[string]string{"a.yaml": named("a"), "web/Chart.yaml": "name: x", "web/values.yaml": "a: b", "web/templates/x.yaml": "{{ x }}"},
			want:  []string{"a"}, warns: []string{"left out: web: the folder is a Helm chart"},
		},
		"the template of a kustomization inside": {
			files: map[string]string{"k/a.yaml": named("a"), "k/kustomization.yaml.liquid": "resources: [a.yaml]"},
			want:  []string{"a"}, warns: []string{"left out: k/kustomization.yaml.liquid: a kustomization"},
		},
		"a kustomization inside": {
			files: map[string]string{"k/a.yaml": named("a"), "k/kustomization.yaml": "resources: [a.yaml]"},
			want:  []string{"a"}, warns: []string{"left out: k/kustomization.yaml: a kustomization"},
		},
		"folders of other renderers": {
			files:  map[string]string{"a.yaml": named("a"), "more/b.yaml": named("b"), "more-still/c.yaml": named("c")},
			except: []string{"more"}, want: []string{"a", "c"},
		},
		"a renderer of the same folder": {
			files: map[string]string{"app/a.yaml": named("a")}, dir: "app",
			except: []string{"app", "."}, want: []string{"a"},
		},
		"the first of two": {
			files: map[string]string{"a.yaml": named("a") + "data: {from: a}\n", "b.yaml": named("a") + "data: {from: b}\n"},
			want:  []string{"a from a"}, warns: []string{"b.yaml:1: ConfigMap shop/a is also in a.yaml:1; the first counts"},
		},
		"values are no manifest": {
			files: map[string]string{"values.yaml": "a: b\n"}, warns: []string{"values.yaml:1: not a manifest"},
		},
		"values by other names": {
			files: map[string]string{"a/values-prod.yml": "a: b\n", "b/web.values.yaml": "a: b\n", "c/prod-values.yaml": "a: b\n"},
			warns: []string{"a/values-prod.yml:1: not a manifest", "b/web.values.yaml:1: not a manifest", "c/prod-values.yaml:1: not a manifest"},
		},
		"JSON that is for something else": {
			files: map[string]string{"dashboard.json": `{"panels": []}`}, warns: []string{"dashboard.json:1: not a manifest"},
		},
		"a document that should be one": {
			files: map[string]string{"a.yaml": named("a") + "---\nmetadata: {name: b}\ndata: {}\n", "evalues.yaml": "a: b\n"}, want: []string{"a"},
			warns: []string{"left out: a.yaml:5: not a manifest", "left out: evalues.yaml:1: not a manifest"},
		},
		"a template is a manifest by the name before": {
			files: map[string]string{"a.yaml.liquid": named("{{ color }}"), "b.txt.liquid": "x"},
			want:  []string{"green"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.dir == "" {
				test.dir = "."
			}
			objects, warnings, err := raw.Render(raw.Request{
				Tree: seal(t, test.files), Dir: test.dir, Except: test.except, Namespace: "shop",
				Liquid: liquid.New(map[string]any{"color": "green"}, time.Time{}),
			})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range objects {
				text := o.Key("").Name
				if data, ok := o.Data["data"].(map[string]any); ok {
					text += " from " + data["from"].(string)
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if len(warnings) != len(test.warns) {
				t.Fatalf("warnings: %q, want %q", warnings, test.warns)
			}
			for i, want := range test.warns {
				if !strings.HasPrefix(warnings[i], want) {
					t.Errorf("warning %q, want %q...", warnings[i], want)
				}
			}
		})
	}
}

func TestErrorsHaveTheirPlace(t *testing.T) {
	tests := map[string]struct {
		file, text string
		line       int
		want       string
	}{
		"yaml":              {file: "a.yaml", text: named("a") + "data: {a: b: c}\n", line: 4, want: "invalid YAML"},
		"liquid":            {file: "a.yaml.liquid", text: named("a") + "data:\n  x: {{ color | nofilter }}\n", line: 5, want: "nofilter"},
		"liquid tag":        {file: "a.yaml.liquid", text: named("a") + "{% if color %}\n", line: 4, want: "if"},
		"templated to yaml": {file: "a.yaml.liquid", text: named("a") + "{% if true %}\ndata: {a: b: c}\n{% endif %}\n", line: 5, want: "rendered text"},
		"include":           {file: "a.yaml.liquid", text: named("a") + "{% include '/etc/passwd' %}\n", line: 4, want: "include is not available"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := raw.Render(raw.Request{
				Tree: seal(t, map[string]string{test.file: test.text}), Dir: ".",
				Liquid: liquid.New(map[string]any{"color": "green"}, time.Time{}),
			})
			var bad *manifest.Error
			if !errors.As(err, &bad) || bad.File != test.file || bad.Line != test.line || !strings.Contains(bad.Message, test.want) {
				t.Errorf("got %v, want %s:%d: ...%s...", err, test.file, test.line, test.want)
			}
		})
	}
}

// TestGeneratedValuesAreMarked: an existing object keeps its password, but a name
// that is generated each time cannot be kept.
func TestGeneratedValuesAreMarked(t *testing.T) {
	render := func(text string) ([]manifest.Object, error) {
		objects, _, err := raw.Render(raw.Request{
			Tree: seal(t, map[string]string{"a.yaml.liquid": text}), Dir: ".", Liquid: liquid.New(nil, time.Unix(0, 0)),
		})
		return objects, err
	}
	objects, err := render(named("a") + "data: {fixed: x, password: {{ 12 | randAlphaNum }}}\n")
	if err != nil || len(objects) != 1 {
		t.Fatalf("%d objects, %v", len(objects), err)
	}
	if diff := cmp.Diff([]string{"/data/password"}, objects[0].Volatile); diff != "" {
		t.Errorf("volatile (-want +got):\n%s", diff)
	}
	var bad *manifest.Error
	if _, err := render(named("a{{ 12 | randAlpha | lower }}")); !errors.As(err, &bad) || !strings.Contains(bad.Message, "must stay the same") {
		t.Errorf("a generated name: %v", err)
	}
}
