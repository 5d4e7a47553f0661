package kinds

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	"github.com/axle-cd/axle/api/kinds"
	platformv1alpha1 "github.com/axle-cd/axle/api/platform/v1alpha1"
	"github.com/axle-cd/axle/api/v1alpha1"
)

// example returns the text and the object of a kind's example, which its page shows.
func example(t *testing.T, d *definition) (string, map[string]any) {
	t.Helper()
	path := "../../" + d.example()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("each kind has an example: %v", err)
	}
	var object map[string]any
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if object["kind"] != d.kind() || object["apiVersion"] != d.api() {
		t.Fatalf("%s is a %s of %s, want a %s of %s", path, object["kind"], object["apiVersion"], d.kind(), d.api())
	}
	return string(text), object
}

// defaulted returns a value with the defaults of its schema.
func defaulted(v any, s *fieldSchema) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, inner := range v {
			field := s.Properties[name]
			if field == nil {
				field = s.AdditionalProperties
			}
			if field == nil {
				field = &fieldSchema{}
			}
			out[name] = defaulted(inner, field)
		}
		for name, field := range s.Properties {
			if _, set := v[name]; !set && field.Default != nil {
				out[name] = field.Default
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, inner := range v {
			items := s.Items
			if items == nil {
				items = &fieldSchema{}
			}
			out = append(out, defaulted(inner, items))
		}
		return out
	}
	return v
}

func TestEveryExampleAppliesAndReadsBackEqual(t *testing.T) {
	s := serve(t)
	for _, d := range definitions(t) {
		t.Run(d.kind(), func(t *testing.T) {
			_, object := example(t, d)
			want := text(t, defaulted(object["spec"], specOf(d)))
			metadata, ok := object["metadata"].(map[string]any)
			if !ok {
				t.Fatalf("metadata is %v", object["metadata"])
			}
			delete(metadata, "namespace")
			stored, err := s.apply(t.Context(), object)
			if err != nil {
				t.Fatal(err)
			}
			if have := text(t, stored["spec"]); have != want {
				t.Errorf("it came back as\n%s\nwant\n%s", have, want)
			}
			if message := d.row().Unsupported(); message != "" && !strings.Contains(text(t, stored["status"]), message) {
				t.Errorf("its status is %v, want the condition %q", stored["status"], message)
			}
			// Applying the same file again, and applying what was read back,
			// change nothing.
			for name, again := range map[string]any{"the file": object["spec"], "what came back": stored["spec"]} {
				if again != nil {
					object["spec"] = again
				}
				next, err := s.apply(t.Context(), object)
				if err != nil {
					t.Fatalf("%s again: %v", name, err)
				}
				if have := generation(t, next); have != 1 {
					t.Errorf("%s once more made generation %v", name, have)
				}
			}
		})
	}
}

// documented returns the objects of our kinds in the documents and examples, by
// file and number, without the generated pages.
func documented(t *testing.T) map[string]map[string]any {
	t.Helper()
	fence := regexp.MustCompile("(?s)\n```yaml\n(.*?)\n```")
	all := map[string]map[string]any{}
	for _, root := range []string{"../../docs", "../../examples"} {
		err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() && entry.Name() == "generated" {
				return filepath.SkipDir // the pages of kinds show the files of examples/kinds
			}
			if err != nil || (filepath.Ext(path) != ".md" && filepath.Ext(path) != ".yaml") || strings.HasPrefix(path, "../../examples/kinds/") {
				return err
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			blocks := []string{string(raw)}
			if filepath.Ext(path) == ".md" {
				blocks = nil
				for _, m := range fence.FindAllStringSubmatch(string(raw), -1) {
					blocks = append(blocks, m[1])
				}
			}
			for i, document := range strings.Split(strings.Join(blocks, "\n---\n"), "\n---\n") {
				var object map[string]any
				if yaml.Unmarshal([]byte(document), &object) != nil {
					continue // a template, or an excerpt
				}
				group, _, _ := strings.Cut(fmt.Sprint(object["apiVersion"]), "/")
				if _, ours := kinds.Of(group, fmt.Sprint(object["kind"])); ours {
					all[fmt.Sprintf("%s:%d", strings.TrimPrefix(path, "../../"), i)] = object
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestEveryDocumentedObjectAppliesAndReadsBackEqual(t *testing.T) {
	s := serve(t)
	objects := documented(t)
	if len(objects) < 8 {
		t.Fatalf("only %d objects are found", len(objects))
	}
	for i, at := range slices.Sorted(maps.Keys(objects)) {
		object := objects[at]
		if object["spec"] == nil {
			continue
		}
		object["metadata"] = map[string]any{"name": fmt.Sprintf("documented-%d", i)}
		stored, err := s.apply(t.Context(), object)
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		if have, want := text(t, stored["spec"]), text(t, defaulted(object["spec"], specOf(s.kinds[fmt.Sprint(object["apiVersion"], " ", object["kind"])]))); have != want {
			t.Errorf("%s came back as\n%s\nwant\n%s", at, have, want)
		}
	}
}

func specOf(d *definition) *fieldSchema {
	if spec := d.root().Properties["spec"]; spec != nil {
		return spec
	}
	return &fieldSchema{}
}

func generation(t *testing.T, object map[string]any) int64 {
	t.Helper()
	var read metav1.PartialObjectMetadata
	if err := json.Unmarshal([]byte(text(t, object)), &read); err != nil {
		t.Fatal(err)
	}
	return read.Generation
}

// goTypes returns the Go types of all kinds that have one.
func goTypes(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, axlev1alpha1.AddToScheme, platformv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// A Go program that reads an object and writes it again loses nothing. Schema-only kinds
// have no type, and all others have one: a CRD of neither is what was left of a kind.
func TestTypesKeepExamples(t *testing.T) {
	scheme := goTypes(t)
	for _, d := range definitions(t) {
		group, version, _ := strings.Cut(d.api(), "/")
		gvk := schema.GroupVersionKind{Group: group, Version: version, Kind: d.kind()}
		if typed := scheme.Recognizes(gvk); typed == d.row().SchemaOnly {
			t.Errorf("%s has a Go type: %v; api/kinds says that it is schema-only: %v", d.kind(), typed, d.row().SchemaOnly)
		}
		if d.row().SchemaOnly {
			continue
		}
		objects := map[string]map[string]any{}
		_, objects["the example"] = example(t, d)
		variants := alternatives[d.kind()]
		if variants == nil {
			variants = [][]string{nil}
		}
		for _, left := range variants {
			f := &filler{t: t, left: left, has: map[string]bool{}}
			object := map[string]any{"apiVersion": d.api(), "kind": d.kind(), "metadata": map[string]any{"name": "all"}}
			if status := d.root().Properties["status"]; status != nil {
				object["status"] = f.fill("status", "status", status)
			}
			if spec := d.root().Properties["spec"]; spec != nil {
				object["spec"] = f.fill("spec", "spec", spec)
			}
			objects["all but "+strings.Join(left, ", ")] = object
		}
		for name, object := range objects {
			typed, err := scheme.New(gvk)
			if err != nil {
				t.Fatal(err)
			}
			if unknown, err := kjson.UnmarshalStrict([]byte(text(t, object)), typed); err != nil || len(unknown) > 0 {
				t.Errorf("%s, %s: %v %v", d.kind(), name, err, unknown)
				continue
			}
			if again := typed.DeepCopyObject(); !reflect.DeepEqual(again, typed) {
				t.Errorf("%s, %s: its copy is\n%s\nwant\n%s", d.kind(), name, text(t, again), text(t, typed))
			}
			var back map[string]any
			if err := json.Unmarshal([]byte(text(t, typed)), &back); err != nil {
				t.Fatal(err)
			}
			for _, part := range []string{"spec", "status"} {
				if have, want := text(t, back[part]), text(t, object[part]); have != want && object[part] != nil {
					t.Errorf("%s, %s: the type makes\n%s\nof\n%s", d.kind(), name, have, want)
				}
			}
		}
	}
}

// The form of the console that creates a cluster shows an object beside it, which
// web/src/pages/clusters/template/Same.test.tsx holds equal to this file: an API server takes
// it as it stands, and each text stays one.
func TestTheObjectBesideTheFormOfTheConsoleApplies(t *testing.T) {
	s := serve(t)
	raw, err := os.ReadFile("testdata/registration-of-the-console.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	object["metadata"] = map[string]any{"name": "shop-1"}
	stored, err := s.apply(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"project": "shop", "templateRef": map[string]any{"name": "eks"}, "managementCluster": "mgmt",
		"tags": map[string]any{"tier": "prod", "ready": "yes", "y": "n", "build": "010", "at": "12:30", "empty": "", "octal": "0o17", "date": "2026-11-29"},
		"variables": map[string]any{
			"region": "eu'; x: #1", "version": "1.30", "count": int64(3), "note": "two\nlines",
			"nodePools": []any{map[string]any{"name": "a", "labels": map[string]any{"on": "off"}}},
		},
	}
	if diff := cmp.Diff(want, stored["spec"]); diff != "" {
		t.Errorf("it came back (-want +got):\n%s", diff)
	}
}
