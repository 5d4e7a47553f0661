package testrun

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzObjects has an API server answer any text for a test's object and its pods.
func FuzzObjects(f *testing.F) {
	for _, text := range []string{`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"status":{"phase":"Failed","containerStatuses":[{"name":"c","state":{"terminated":{"exitCode":3,"message":"boom"}}}]}}`,
		`{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"a","namespace":"ns","uid":"u"},"status":{"conditions":[{"type":"Failed","status":"True","reason":"BackoffLimitExceeded"},null,7]}}`,
		`{"kind":"PodList","apiVersion":"v1","items":[{},{"status":{"initContainerStatuses":[{},{}]}}]}`, `{"kind":"Job","apiVersion":"batch/v1","status":[]}`, `null`, `[]`, ``} {
		f.Add(text)
	}
	api := &taken.Answers{}
	r, err := rest.RESTClientFor(&rest.Config{Host: "http://127.0.0.1:1", Transport: api, APIPath: "/unused", QPS: -1, ContentConfig: rest.ContentConfig{NegotiatedSerializer: scheme.Codecs.WithoutConversion(), GroupVersion: &schema.GroupVersion{}}})
	if err != nil {
		f.Fatal(err)
	}
	c := &client{rest: r}
	f.Fuzz(func(t *testing.T, text string) {
		api.Body = text
		taken.Few(t, len(text), func() {
			object, err := c.get(t.Context(), "/api/v1/namespaces/ns/pods/a")
			if err != nil {
				object = &unstructured.Unstructured{Object: map[string]any{"kind": "Job", "metadata": map[string]any{"namespace": "ns", "uid": "u"}}}
			}
			pods, _ := podsOf(t.Context(), c, object)
			if v, done := verdictOf(object, pods); v.passed && !done {
				t.Error("a test passed before its end")
			}
			exits(pods)
		})
	})
}

// The pod of a test is the one that was read.
func TestThePodOfATest(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "apiVersion": "v1", "metadata": map[string]any{"name": "a"}}}
	if pods, err := podsOf(t.Context(), nil, object); err != nil || len(pods) != 1 || pods[0].Name != "a" {
		t.Errorf("%v, %v", pods, err)
	}
}
