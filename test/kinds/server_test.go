package kinds

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

// server is a real API server with all CRDs.
type server struct {
	client    dynamic.Interface
	namespace string
	// kinds are all by API version and kind, and those of the hub by kind too.
	kinds map[string]*definition
}

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func serve(t *testing.T) *server {
	t.Helper()
	cluster := kube.Shared(t)
	config := rest.CopyConfig(cluster.Config())
	config.QPS, config.Burst = 200, 400
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{client: client, namespace: cluster.Namespace(t), kinds: map[string]*definition{}}
	for _, d := range definitions(t) {
		s.kinds[d.api()+" "+d.kind()] = d
		if d.Spec.Group != kinds.Platform { // its Dashboard is another one
			s.kinds[d.kind()] = d
		}
	}
	if !installed {
		install(t, client)
		installed = true
	}
	return s
}

// installed is true once the API server of this test binary has the CRDs. Tests
// that use it do not run in parallel.
var installed bool

func install(t *testing.T, client dynamic.Interface) {
	t.Helper()
	for _, d := range definitions(t) {
		text, err := yaml.YAMLToJSON(d.text)
		if err != nil {
			t.Fatal(err)
		}
		name := d.Spec.Names.Plural + "." + d.Spec.Group
		if _, err := client.Resource(crds).Patch(t.Context(), name, types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: "test", FieldValidation: "Strict"}); err != nil {
			t.Fatalf("install %s: %v", name, err)
		}
	}
	eventually.For(t, time.Minute, "all CRDs established", func() error {
		list, err := client.Resource(crds).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, crd := range list.Items {
			if !established(crd) {
				return fmt.Errorf("%s: %v", crd.GetName(), crd.Object["status"])
			}
		}
		return nil
	})
}

// established reports whether the API server serves the objects of a definition,
// with its names and a structural schema.
func established(crd unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	is := map[any]any{}
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok {
			is[c["type"]] = c["status"]
		}
	}
	return is["Established"] == "True" && is["NamesAccepted"] == "True" && is["NonStructuralSchema"] == nil
}

func (s *server) resource(d *definition, namespace string) dynamic.ResourceInterface {
	all := s.client.Resource(schema.GroupVersionResource{Group: d.Spec.Group, Version: d.Spec.Versions[0].Name, Resource: d.Spec.Names.Plural})
	if d.cluster() {
		return all
	}
	return all.Namespace(namespace)
}

// apply applies an object with strict validation, and returns the stored object.
func (s *server) apply(ctx context.Context, object map[string]any, subresources ...string) (map[string]any, error) {
	u := &unstructured.Unstructured{Object: object}
	d := s.kinds[u.GetAPIVersion()+" "+u.GetKind()]
	if d == nil {
		return nil, fmt.Errorf("no kind %s of %s", u.GetKind(), u.GetAPIVersion())
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	namespace := u.GetNamespace()
	if namespace == "" || d.cluster() {
		namespace = s.namespace
	}
	_, err = s.resource(d, namespace).Patch(ctx, u.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: "test", FieldValidation: "Strict"}, subresources...)
	if err != nil {
		return nil, err
	}
	got, err := s.resource(d, namespace).Get(ctx, u.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return got.Object, nil
}

// text returns a value as JSON.
func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
