package testrun_test

import (
	"bytes"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/testrun"
)

func TestWhatIsATest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		annotations map[string]string
		want        bool
	}{
		"nothing":          {nil, false},
		"ours":             {map[string]string{"axle-cd.github.io/hook": "Test"}, true},
		"ours, other word": {map[string]string{"axle-cd.github.io/hook": "PostSync"}, false},
		"Helm":             {map[string]string{"helm.sh/hook": "test"}, true},
		"Helm, older":      {map[string]string{"helm.sh/hook": "test-success"}, true},
		"Helm, of several": {map[string]string{"helm.sh/hook": "post-install, test"}, true},
		"Helm, other":      {map[string]string{"helm.sh/hook": "pre-install"}, false},
		"ours wins":        {map[string]string{"axle-cd.github.io/hook": "Sync", "helm.sh/hook": "test"}, false},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAnnotations(test.annotations)
		tests, rest := testrun.Split([]*unstructured.Unstructured{o})
		if got := testrun.IsTest(o); got != test.want || len(tests)+len(rest) != 1 || (len(tests) == 1) != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestTheDocumentedExampleIsATest with what its annotations say.
func TestTheDocumentedExampleIsATest(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/tests.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(page, []byte("```yaml\n"))
	example, _, found := bytes.Cut(rest, []byte("```"))
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(example, &o.Object); err != nil || !found {
		t.Fatalf("the page shows no YAML: %v", err)
	}
	if !testrun.IsTest(o) || o.GetKind() != "Job" || o.GetAnnotations()[testrun.RetriesAnnotation] != "2" {
		t.Errorf("the example: %v", o.Object)
	}
	for _, name := range []string{testrun.HookAnnotation, testrun.RetriesAnnotation, testrun.OptionalAnnotation, testrun.WeightAnnotation} {
		if !bytes.Contains(page, []byte(name)) {
			t.Errorf("the page does not name %s", name)
		}
	}
}
