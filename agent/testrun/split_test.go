package testrun_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
