package apply_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/ignore"
	"github.com/axle-cd/axle/internal/kubeobj"
)

// uidOf is an object's identity, empty when it is gone.
func (b *bed) uidOf(namespace, name string) types.UID {
	b.t.Helper()
	o, err := b.configMap(namespace, name)
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return o.UID
}

func (b *bed) ownerOf(namespace, name string) string {
	b.t.Helper()
	o, err := b.configMap(namespace, name)
	if err != nil {
		b.t.Fatal(err)
	}
	return o.Annotations[kubeobj.ServiceAnnotation]
}

func TestMovingObjectsAreHandedOverWhoeverComesFirst(t *testing.T) {
	b := newBed(t, nil)
	const wave = `annotations: {axle-cd.github.io/sync-wave: "3"}`
	for name, move := range map[string]func(from, to apply.Service, one, two string){
		"the loser first": func(from, to apply.Service, one, two string) {
			from.Unsettled = func() []apply.Pending { return []apply.Pending{{Name: to.Name, Why: "it is not rendered yet"}} }
			if result := b.pass(from, configMap("own", "v1")); !strings.Contains(result.Message, to.Name) || result.Pruned+result.Left > 0 || result.Again == 0 {
				t.Errorf("while the other one is not rendered: %+v", result)
			}
			if result := b.pass(to, one, two); result.Phase != apply.PhaseApplied {
				t.Errorf("the heir: %+v", result)
			}
			from.Unsettled = nil
			b.pass(from, configMap("own", "v1"))
		},
		"the heir first, whose first wave is refused": func(from, to apply.Service, one, two string) {
			if result := b.pass(to, one, two); result.Reason != apply.ReasonOwnership {
				t.Errorf("the heir before: %+v", result)
			}
			if result := b.pass(from, configMap("own", "v1")); result.Left != 2 || result.Pruned != 0 {
				t.Errorf("the loser: %+v", result)
			}
			if result := b.pass(to, one, two); result.Phase != apply.PhaseApplied {
				t.Errorf("the heir after: %+v", result)
			}
		},
		"the loser leaves": func(from, to apply.Service, one, two string) {
			b.pass(to, one, two)
			if result, err := b.engine.Drain(t.Context(), b.permit(b.engine, from), from); err != nil || !result.Done || result.Left != 2 {
				t.Errorf("the drain: %+v %v", result, err)
			}
			b.pass(to, one, two)
		},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := newService("d1"), newService("d1")
			to.Namespace = from.Namespace
			one, two := configMap("one", "v1"), configMap("two", "v1", wave)
			b.pass(from, configMap("own", "v1"), one, two)
			before := []types.UID{b.uidOf(from.Namespace, "one"), b.uidOf(from.Namespace, "two")}
			from.TarballDigest = "d2"
			move(from, to, one, two)
			for i, name := range []string{"one", "two"} {
				if b.uidOf(from.Namespace, name) != before[i] || b.ownerOf(from.Namespace, name) != to.ID {
					t.Errorf("%s was deleted, or is not the heir's", name)
				}
			}
		})
	}
}

func TestServiceThatStoppedWantingAnObjectIsNotGivenIt(t *testing.T) {
	b := newBed(t, nil)
	from, to := newService("d1"), newService("d1")
	to.Namespace = from.Namespace
	b.pass(from, configMap("own", "v1"), configMap("one", "v1"))
	b.pass(to, configMap("one", "v1"))
	to.TarballDigest = "d2"
	b.pass(to, configMap("else", "v1"))
	from.TarballDigest = "d2"
	b.pass(from, configMap("own", "v1"))
	if b.uidOf(from.Namespace, "one") != "" {
		t.Error("the object stays with nobody who would delete it")
	}
}

func TestSameServiceUnderANewIDTakesOver(t *testing.T) {
	b := newBed(t, nil)
	old := newService("d1")
	b.pass(old, configMap("one", "v1"))
	uid := b.uidOf(old.Namespace, "one")
	again := old
	again.ID += "-again"
	if result := b.pass(again, configMap("one", "v1")); result.Phase != apply.PhaseApplied {
		t.Fatalf("%+v", result)
	}
	if result, err := b.engine.Drain(t.Context(), b.permit(b.engine, old), old); err != nil || !result.Done || result.Deleted != 0 {
		t.Errorf("the old one leaves: %+v %v", result, err)
	}
	if b.uidOf(old.Namespace, "one") != uid {
		t.Error("the object was deleted")
	}
}

func TestObjectOfAnotherApplySetIsRefused(t *testing.T) {
	b := newBed(t, nil)
	s := newService("d1")
	s.Adopt = true
	b.makeNamespace(s.Namespace)
	theirs := objects(t, configMap("one", "v1", "labels: {"+kubeobj.ApplySetLabel+": applyset-1}"))[0]
	if _, err := b.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(s.Namespace).Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if result := b.pass(s, configMap("one", "v2")); !strings.Contains(result.Message, "apply set") {
		t.Errorf("%+v", result)
	}
	if result := b.pass(s, configMap("two", "v1", "labels: {"+kubeobj.ApplySetLabel+": applyset-1}")); !strings.Contains(result.Message, "apply set") {
		t.Errorf("rendered: %+v", result)
	}
}

func TestAdoptionTakesWhatDeployersHadSet(t *testing.T) {
	b := newBed(t, nil)
	for name, test := range map[string]struct {
		managers []string
		keeps    bool
	}{
		"deployers": {managers: []string{"kubectl-client-side-apply", "kubectl", "helm", "before-first-apply", "argocd-controller", "kustomize-controller",
			"helm-controller", "application/apply-patch", "fleetagent"}},
		"others": {managers: []string{"kube-controller-manager", "cert-manager-cainjector", "vpa"}, keeps: true},
	} {
		for _, manager := range test.managers {
			t.Run(name+" "+manager, func(t *testing.T) {
				s := newService("d1")
				s.Adopt = true
				b.makeNamespace(s.Namespace)
				theirs := objects(t, configMap("one", "v1"))[0]
				theirs.Object["data"] = map[string]any{"key": "old", "dropped": "yes"}
				if _, err := b.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(s.Namespace).Create(t.Context(), theirs, metav1.CreateOptions{FieldManager: manager}); err != nil {
					t.Fatal(err)
				}
				if result := b.pass(s, configMap("one", "new")); result.Phase != apply.PhaseApplied {
					t.Fatalf("%+v", result)
				}
				o, err := b.configMap(s.Namespace, "one")
				if err != nil {
					t.Fatal(err)
				}
				if _, has := o.Data["dropped"]; has != test.keeps || o.Data["key"] != "new" {
					t.Errorf("after the adoption: %v", o.Data)
				}
			})
		}
	}
}

func TestStrictTakesBackOnlyWhatPeopleSet(t *testing.T) {
	b := newBed(t, nil)
	for _, strict := range []bool{false, true} {
		s := newService("d1")
		s.Strict = strict
		b.pass(s, configMap("one", "v1"))
		for _, manager := range []string{"kubectl-edit", "k9s", "Mozilla", "vpa-admission-controller", "kube-controller-manager"} {
			body := fmt.Sprintf(`{"data":{"by-%s":"yes"}}`, strings.ToLower(manager))
			if _, err := b.admin.CoreV1().ConfigMaps(s.Namespace).Patch(t.Context(), "one", types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager}); err != nil {
				t.Fatal(err)
			}
		}
		if result := b.pass(s, configMap("one", "v1")); result.Phase != apply.PhaseApplied {
			t.Errorf("%+v", result)
		}
		o, err := b.configMap(s.Namespace, "one")
		if err != nil {
			t.Fatal(err)
		}
		for manager, person := range map[string]bool{"kubectl-edit": true, "k9s": true, "mozilla": true, "vpa-admission-controller": false, "kube-controller-manager": false} {
			if _, has := o.Data["by-"+manager]; has == (strict && person) {
				t.Errorf("strict %v: what %s added is there: %v", strict, manager, has)
			}
		}
	}
}

func TestFinalizerThatNeverEndsHoldsNothingElse(t *testing.T) {
	b := newBed(t, nil)
	s := newService("d1")
	b.pass(s, configMap("own", "v1"), configMap("held", "v1", "finalizers: [example.org/never]"), configMap("free", "v1"))
	s.TarballDigest = "d2"
	for range 3 {
		result := b.pass(s, configMap("own", "v2"))
		if result.Sync != apply.SyncApplying || !strings.Contains(result.Message, "held is still to be deleted: it is held by its finalizers example.org/never,") || result.Again == 0 {
			t.Fatalf("%+v", result)
		}
	}
	b.called(s, "d2")
	if b.uidOf(s.Namespace, "free") != "" {
		t.Error("the others wait for it")
	}
	if o, err := b.configMap(s.Namespace, "own"); err != nil || o.Data["key"] != "v2" {
		t.Errorf("the new revision waits for it: %v %v", o.Data, err)
	}
	if _, err := b.admin.CoreV1().ConfigMaps(s.Namespace).Patch(t.Context(), "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if result := b.pass(s, configMap("own", "v2")); result.Phase != apply.PhaseApplied {
		t.Errorf("once it is gone: %+v", result)
	}
}

func TestEmptiedManagedFieldsAreTakenBack(t *testing.T) {
	b := newBed(t, nil)
	s := newService("d1")
	b.pass(s, configMap("one", "v1"))
	if _, err := b.admin.CoreV1().ConfigMaps(s.Namespace).Patch(t.Context(), "one", types.JSONPatchType, []byte(`[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`), metav1.PatchOptions{FieldManager: "wiper"}); err != nil {
		t.Fatal(err)
	}
	if result := b.pass(s, configMap("one", "v1")); result.Applied != 1 || result.Phase != apply.PhaseApplied {
		t.Errorf("%+v", result)
	}
	o, err := b.configMap(s.Namespace, "one")
	if err != nil {
		t.Fatal(err)
	}
	if print := kubeobj.Print(o.ManagedFields); print.Own == 0 {
		t.Error("the fields are not ours again")
	}
	if result := b.pass(s, configMap("one", "v1")); result.Unchanged != 1 {
		t.Errorf("afterwards: %+v", result)
	}
}

// A certificate injector fills in what Git leaves open, or holds a placeholder
// for; neither is fought.
func TestInjectedCertificatesStay(t *testing.T) {
	b := newBed(t, nil)
	s := newService("d1")
	s.Ignore = []ignore.Rule{{Kind: "ValidatingWebhookConfiguration", Paths: []string{".webhooks[].clientConfig.caBundle"}}}
	hook := func(version, bundle string) string {
		return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %s, labels: {version: %q}}
webhooks:
- name: a.example.org
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Ignore
  rules: [{apiGroups: [none.example.org], apiVersions: [v1], operations: [CREATE], resources: [none]}]
  clientConfig: {%s service: {name: a, namespace: default}}
`, s.ID, version, bundle)
	}
	b.pass(s, hook("1", "caBundle: Cg==,"))
	client := b.admin.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := client.Patch(t.Context(), s.ID, types.StrategicMergePatchType, []byte(`{"webhooks":[{"name":"a.example.org","clientConfig":{"caBundle":"aW5qZWN0ZWQ="}}]}`), metav1.PatchOptions{FieldManager: "cainjector"}); err != nil {
		t.Fatal(err)
	}
	for n, manifest := range []string{hook("1", "caBundle: Cg==,"), hook("2", "caBundle: Cg==,"), hook("3", ""), hook("3", "")} {
		s.TarballDigest = fmt.Sprint("d", n+2)
		if result := b.pass(s, manifest); result.Phase != apply.PhaseApplied || n == 3 && result.Unchanged != 1 {
			t.Errorf("%d: %+v", n, result)
		}
		o, err := client.Get(t.Context(), s.ID, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(o.Webhooks[0].ClientConfig.CABundle); got != "injected" {
			t.Errorf("%d: the bundle is %q", n, got)
		}
	}
}
