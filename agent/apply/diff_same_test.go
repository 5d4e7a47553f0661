package apply_test

import (
	"fmt"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/apply"
)

const scaledDoc = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "nginx:%s"}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 1, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}`

// afterPass compares what the diff predicted for an object with the result of a pass.
func afterPass(t *testing.T, b *bed, service apply.Service, resource schema.GroupVersionResource, name string, docs ...string) apply.Result {
	t.Helper()
	all, _ := diffOf(t, b, service, docs...)
	said, ok := all[name]
	if !ok {
		t.Fatalf("the diff does not name %s: %+v", name, all)
	}
	result := b.pass(service, docs...)
	object, err := b.dynamic.Resource(resource).Namespace(service.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var desired map[string]any
	if err := yaml.Unmarshal([]byte(said.Desired), &desired); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"spec", "data"} {
		if got, want := fmt.Sprint(object.Object[part]), fmt.Sprint(desired[part]); got != want {
			t.Errorf("%s: the pass made its %s\n%s\nand the diff said\n%s", name, part, got, want)
		}
	}
	return result
}

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

func TestDiffLeavesReplicasToTheAutoscaler(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	b.pass(service, strings.ReplaceAll(scaledDoc, "%s", "1"))
	_, err := b.admin.AppsV1().Deployments(service.Namespace).UpdateScale(t.Context(), "web", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: service.Namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: 7},
	}, metav1.UpdateOptions{FieldManager: "kube-controller-manager"})
	if err != nil {
		t.Fatal(err)
	}
	service.TarballDigest = "d2"
	afterPass(t, b, service, deployments, "web", strings.ReplaceAll(scaledDoc, "%s", "2"))
}

func TestDiffTakesOverAsAnAdoptionDoes(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	service.Adopt = true
	b.makeNamespace(service.Namespace)
	b.kubectlMap(service.Namespace, "theirs")
	afterPass(t, b, service, configMaps, "theirs", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs}\ndata: {ours: v}")
}

func TestDiffPrunesAsAPassDoes(t *testing.T) {
	b := newBed(t, nil)
	many := func() (docs []string) {
		for n := range 8 {
			docs = append(docs, configMap(fmt.Sprintf("m%d", n), "v"))
		}
		return docs
	}()
	for name, test := range map[string]struct {
		change func(*apply.Service)
		docs   []string
		gone   string
		want   string
	}{
		"one is not rendered any more":      {nil, many[1:], "m0", "delete"},
		"the prune limit holds":             {nil, many[6:], "m0", "hold"},
		"a part was left out":               {func(s *apply.Service) { s.LeftOut = []string{"charts/x"} }, many[1:], "m0", "hold"},
		"it may not be all":                 {func(s *apply.Service) { s.Partial = "the API list is not whole" }, many[1:], "m0", "hold"},
		"another object cannot be applied":  {nil, append([]string{"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name}"}, many[1:]...), "m0", "hold"},
		"it is rendered and has no version": {nil, append([]string{"apiVersion: nowhere.example.org/v1\nkind: ConfigMap\nmetadata: {name: other}"}, many...), "m0", ""},
		"a service that nobody knows": {func(s *apply.Service) {
			s.Unsettled = func() []apply.Pending { return []apply.Pending{{Name: "x", Why: "fails"}} }
		}, many[1:], "m0", "hold"},
	} {
		t.Run(name, func(t *testing.T) {
			service := newService("d1")
			b.pass(service, many...)
			service.TarballDigest = "d2"
			if test.change != nil {
				test.change(&service)
			}
			all, _ := diffOf(t, b, service, test.docs...)
			if got := string(all[test.gone].Action); got != test.want {
				t.Errorf("the diff says %q, want %q: %+v", got, test.want, all[test.gone])
			}
			result, err := b.engine.Pass(t.Context(), b.permit(b.engine, service), service, objects(t, test.docs...))
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.configMap(service.Namespace, test.gone)
			if deleted := err != nil; deleted != (test.want == "delete") {
				t.Errorf("the pass deleted it: %v, %+v", deleted, result)
			}
		})
	}
}

// What people do to an object, with the action that a diff gives for it and a part of
// its reason.
func TestDiffNamesWhoWroteAField(t *testing.T) {
	b := newBed(t, nil)
	for name, test := range map[string]struct {
		manager, patch string
		action, reason string
	}{
		"another value":              {"kubectl-edit", `{"data":{"key":"theirs"}}`, "update", ".data.key (by kubectl-edit)"},
		"a field was removed":        {"kubectl-edit", `{"data":{"key":null}}`, "update", ".data.key removed"},
		"a person added a field":     {"kubectl-edit", `{"data":{"more":"theirs"}}`, "leave", ".data.more (by kubectl-edit)"},
		"a controller added a field": {"some-controller", `{"data":{"more":"theirs"}}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			service := newService("d1")
			b.pass(service, configMap("a", "v"))
			b.patchAs(service.Namespace, "a", test.manager, test.patch)
			all, _ := diffOf(t, b, service, configMap("a", "v"))
			if d := all["a"]; string(d.Action) != test.action || !strings.Contains(d.Message, test.reason) {
				t.Errorf("%q %q, want %q %q", d.Action, d.Message, test.action, test.reason)
			}
		})
	}
	t.Run("the same value by another hand", func(t *testing.T) {
		service := newService("d1")
		b.pass(service, configMap("a", "v"))
		b.patchAs(service.Namespace, "a", "kubectl-edit", `{"data":{"key":"theirs"}}`)
		b.patchAs(service.Namespace, "a", "kubectl-edit", `{"data":{"key":"v"}}`)
		all, _ := diffOf(t, b, service, configMap("a", "v"))
		if d := all["a"]; d.Action != "update" || !strings.Contains(d.Message, ".data.key (by kubectl-edit)") {
			t.Errorf("%+v", d)
		}
	})
}

func (b *bed) patchAs(namespace, name, manager, patch string) {
	b.t.Helper()
	_, err := b.admin.CoreV1().ConfigMaps(namespace).Patch(b.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		b.t.Fatal(err)
	}
}

// A diff must not give any objects away.
func TestDiffClaimsNothing(t *testing.T) {
	b := newBed(t, nil)
	owner, other := newService("d1"), newService("d1")
	other.Namespace = owner.Namespace
	b.pass(owner, configMap("shared", "v"), configMap("rest", "v"))
	all, _ := diffOf(t, b, other, configMap("shared", "w"))
	if d := all["shared"]; d.Action != "refuse" || !strings.Contains(d.Message, "belongs to service") {
		t.Errorf("%+v", d)
	}
	owner.TarballDigest = "d2"
	if r := b.pass(owner, configMap("rest", "v")); r.Pruned != 1 || r.Left != 0 {
		t.Errorf("the object was handed to a service that only asked: %+v", r)
	}
}
