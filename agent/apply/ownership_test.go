package apply_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/apply/wave"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/internal/scrub"
)

// kubectlMap makes a ConfigMap as a person would.
func (b *bed) kubectlMap(namespace, name string) {
	b.t.Helper()
	b.makeNamespace(namespace)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"old": "1", "key": "theirs"}}
	_, err := b.admin.CoreV1().ConfigMaps(namespace).Create(b.t.Context(), object, metav1.CreateOptions{FieldManager: "kubectl-create"})
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestObjectThatIsNotOursIsRefusedUntilAdopted(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	b.kubectlMap(service.Namespace, "shared")
	docs := []string{configMap("shared", "ours"), configMap("own", "ours")}

	result := b.pass(service, docs...)
	if result.Sync != apply.SyncFailed || result.Reason != apply.ReasonOwnership || !strings.Contains(result.Message, "adopt: true") {
		t.Errorf("refusal: %+v", result)
	}
	if state, _ := b.engine.State(service.ID); state.Phase == apply.PhaseApplied || state.TarballDigest != "" {
		t.Errorf("half applied is called applied: %+v", state)
	}
	m, err := b.configMap(service.Namespace, "shared")
	if err != nil || m.Data["key"] != "theirs" || m.Labels[kubeobj.ManagedLabel] != "" {
		t.Errorf("the object was touched: %v %v", m, err)
	}
	// A service that gives up must not delete objects that were never its own.
	if result = b.pass(service, docs[1]); result.Pruned != 0 || result.Phase != apply.PhaseApplied {
		t.Errorf("giving up: %+v", result)
	}
	if _, err := b.configMap(service.Namespace, "shared"); err != nil {
		t.Errorf("somebody else's object was deleted: %v", err)
	}

	service.Adopt = true
	if result = b.pass(service, docs...); result.Phase != apply.PhaseApplied {
		t.Fatalf("adoption: %+v", result)
	}
	m, err = b.configMap(service.Namespace, "shared")
	if err != nil || m.Data["key"] != "ours" {
		t.Errorf("after the adoption: %v %v", m, err)
	}
	if _, left := m.Data["old"]; left {
		t.Error("a key that the manifest does not have stays after the adoption")
	}
}

// An object that is shared keeps what others wrote when it is taken over.
func TestSharedObjectKeepsWhatOthersWrote(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	service.Adopt = true
	b.kubectlMap(service.Namespace, "shared")
	if result := b.pass(service, configMap("shared", "ours", `annotations: {`+wave.SharedAnnotation+`: "true"}`)); result.Phase != apply.PhaseApplied {
		t.Fatalf("adoption: %+v", result)
	}
	m, err := b.configMap(service.Namespace, "shared")
	if err != nil || m.Data["key"] != "ours" || m.Data["old"] == "" {
		t.Errorf("after the adoption: %v %v", m, err)
	}
}

func TestObjectOfAnotherServiceIsRefusedThenHandedOver(t *testing.T) {
	b := newBed(t, nil)
	first, second := newService("d1"), newService("d1")
	second.Namespace = first.Namespace
	b.pass(first, configMap("moved", "first"), configMap("stays", "first"))

	result := b.pass(second, configMap("moved", "second"))
	if result.Sync != apply.SyncFailed || !strings.Contains(result.Message, first.Namespace+"/"+first.Name) {
		t.Fatalf("refusal must name the owner: %+v", result)
	}
	before, err := b.configMap(first.Namespace, "moved")
	if err != nil || before.Data["key"] != "first" {
		t.Fatalf("%v %v", before, err)
	}
	if result = b.pass(first, configMap("stays", "first")); result.Pruned != 0 || result.Left != 1 {
		t.Fatalf("hand-over: %+v", result)
	}
	if result = b.pass(second, configMap("moved", "second")); result.Phase != apply.PhaseApplied {
		t.Fatalf("heir: %+v", result)
	}
	after, err := b.configMap(first.Namespace, "moved")
	if err != nil || after.UID != before.UID || after.Data["key"] != "second" || after.Annotations[kubeobj.ServiceAnnotation] != second.ID {
		t.Errorf("the object was not handed over whole: %v %v", after, err)
	}
}

func TestObjectOfAnotherClustersAgentIsRefused(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	b.pass(service, configMap("a", "v"))
	other := newService("d1")
	other.Namespace, other.Adopt = service.Namespace, true
	b.engine = b.restart(func(c *apply.Config) { c.ClusterID = "c-2" })
	if result := b.pass(other, configMap("a", "w")); result.Sync != apply.SyncFailed || !strings.Contains(result.Message, "c-1") {
		t.Errorf("%+v", result)
	}
}

func TestMessagesHoldNoSecret(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	service.Scrub = scrub.New(map[string]string{"config.password": "hunter2-hunter2"})
	// The API server quotes a value of the wrong type; of a Secret nothing is kept of that
	// (TestErrorsQuoteNoSecret).
	result := b.pass(service, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {password: [hunter2-hunter2]}")
	if result.Sync != apply.SyncFailed || strings.Contains(fmt.Sprintf("%+v", result), "hunter2") || !strings.Contains(result.Message, "[secret config.password]") {
		t.Errorf("%+v", result)
	}
}

func TestImmutableFieldNamesFieldAndRecreates(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	deployment := func(app, extra string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web" + extra + "}\nspec:\n  selector: {matchLabels: {app: " + app +
			"}}\n  template:\n    metadata: {labels: {app: " + app + "}}\n    spec: {containers: [{name: web, image: x}]}"
	}
	b.pass(service, deployment("one", ""))
	result := b.pass(service, deployment("two", ""))
	if result.Sync != apply.SyncFailed || !strings.Contains(result.Message, "spec.selector") || !strings.Contains(result.Message, wave.RecreateAnnotation) {
		t.Errorf("%+v", result)
	}
	if result = b.pass(service, deployment("two", `, annotations: {`+wave.RecreateAnnotation+`: "true"}`)); result.Phase != apply.PhaseApplied {
		t.Errorf("recreate: %+v", result)
	}
	d, err := b.admin.AppsV1().Deployments(service.Namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || d.Spec.Selector.MatchLabels["app"] != "two" {
		t.Errorf("%v %v", d, err)
	}
}

// An object that is recreated and whose deletion is held up delays no other: the pass
// waits a moment, the next ones do not, and one of them creates it once it is gone.
func TestRecreationThatIsHeldUpIsFinishedLater(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	b.pass(service, configMap("a", "v1", "finalizers: [example.org/hold]")+"immutable: true\n")
	recreated := configMap("a", "v2", "finalizers: [example.org/hold]", `annotations: {`+wave.RecreateAnnotation+`: "true"}`) + "immutable: true\n"
	service.TarballDigest = "d2"
	for _, says := range []string{"deleted to be created again and is not gone yet: it is held by its finalizers example.org/hold,", "is being deleted; it is created again once it is gone: it is held by its finalizers example.org/hold,"} {
		result := b.pass(service, recreated)
		if result.Sync != apply.SyncFailed || !strings.Contains(result.Message, says) || result.Again == 0 || result.Again > 15*time.Second {
			t.Fatalf("held up: %+v", result)
		}
	}
	before := b.uidOf(service.Namespace, "a")
	if _, err := b.admin.CoreV1().ConfigMaps(service.Namespace).Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if result := b.pass(service, recreated); result.Phase != apply.PhaseApplied {
		t.Errorf("once it is gone: %+v", result)
	}
	if o, err := b.configMap(service.Namespace, "a"); err != nil || o.Data["key"] != "v2" || o.UID == before {
		t.Errorf("%v %v", o, err)
	}
}
