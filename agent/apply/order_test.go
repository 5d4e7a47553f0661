package apply_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/apply/wave"
)

func crd(plural, kind string) string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: %s, singular: %s, kind: %s, listKind: %sList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`, plural, plural, strings.ToLower(kind), kind, kind)
}

func TestDefinitionAndItsObjectsInOnePass(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	// The API server is shared with the test's other runs.
	number := strings.TrimPrefix(service.ID, "svc-")
	object := "apiVersion: example.org/v1\nkind: Gadget" + number + "\nmetadata: {name: g}\nspec: {size: 1}"
	result := b.pass(service, object, crd("gadgets"+number, "Gadget"+number), "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+service.Namespace+"}")
	if result.Phase != apply.PhaseApplied || result.Applied != 3 {
		t.Fatalf("%+v", result)
	}
	gadgets := b.dynamic.Resource(schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "gadgets" + number}).Namespace(service.Namespace)
	if _, err := gadgets.Get(t.Context(), "g", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	// Neither the definition nor its objects are pruned.
	if result = b.pass(service, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+service.Namespace+"}"); result.Left != 2 || result.Phase != apply.PhaseApplied {
		t.Errorf("%+v", result)
	}
	if _, err := gadgets.Get(t.Context(), "g", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestUnknownKindSaysWhatToDo(t *testing.T) {
	b := newBed(t, nil)
	result := b.pass(newService("d1"), "apiVersion: nowhere.example.org/v1\nkind: Thing\nmetadata: {name: x}", configMap("ok", "v"))
	if result.Sync != apply.SyncFailed || !strings.Contains(result.Message, "CustomResourceDefinition") || result.Applied != 1 {
		t.Errorf("%+v", result)
	}
	result = b.pass(newService("d1"), "apiVersion: apps/v1beta1\nkind: Deployment\nmetadata: {name: x}")
	if !strings.Contains(result.Message, "apps/v1") {
		t.Errorf("%+v", result)
	}
}

func TestLaterWavesWaitForEarlierOnes(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	b.kubectlMap(service.Namespace, "first")
	wave := func(n int) string { return fmt.Sprintf("annotations: {%s: %q}", wave.WaveAnnotation, fmt.Sprint(n)) }
	result := b.pass(service, configMap("second", "v", wave(2)), configMap("first", "v", wave(-1)), configMap("zeroth", "v", wave(-2)))
	if result.Applied != 1 || result.Sync != apply.SyncFailed {
		t.Errorf("%+v", result)
	}
	if _, err := b.configMap(service.Namespace, "zeroth"); err != nil {
		t.Error(err)
	}
	if _, err := b.configMap(service.Namespace, "second"); err == nil {
		t.Error("a later wave was applied although an earlier one failed")
	}
}

func TestEnforcedNamespace(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	service.EnforceNamespace = true
	result := b.pass(service, configMap("a", "v", "namespace: default"), "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: "+service.ID+"}")
	if result.Sync != apply.SyncFailed || !strings.Contains(result.Message, "ClusterRole") {
		t.Errorf("%+v", result)
	}
	if _, err := b.configMap(service.Namespace, "a"); err != nil {
		t.Errorf("the object is not in the service's namespace: %v", err)
	}
}
