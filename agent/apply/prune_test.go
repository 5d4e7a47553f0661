package apply_test

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/kubeobj"
)

func maps(count int) []string {
	var docs []string
	for n := range count {
		docs = append(docs, configMap(fmt.Sprintf("m%d", n), "v"))
	}
	return docs
}

func (b *bed) count(namespace string) int {
	b.t.Helper()
	list, err := b.admin.CoreV1().ConfigMaps(namespace).List(b.t.Context(), metav1.ListOptions{LabelSelector: kubeobj.ManagedLabel})
	if err != nil {
		b.t.Fatal(err)
	}
	return len(list.Items)
}

func TestPruneDeletesOnlyWhatIsStillOurs(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	b.pass(service, append(maps(10), "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}")...)
	change := func(name, body string) {
		t.Helper()
		if _, err := b.admin.CoreV1().ConfigMaps(service.Namespace).Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	change("m0", `{"metadata":{"annotations":{"`+kubeobj.ServiceAnnotation+`":"somebody"}}}`)
	change("m1", `{"metadata":{"annotations":{"`+kubeobj.TrackingAnnotation+`":"/ConfigMap/elsewhere/m1"}}}`)

	service.TarballDigest = "d2"
	result := b.pass(service, maps(10)[3:]...)
	if result.Phase != apply.PhaseApplied || result.Pruned != 1 || result.Left != 3 {
		t.Errorf("prune: %+v", result)
	}
	for name, gone := range map[string]bool{"m0": false, "m1": false, "m2": true, "m3": false} {
		if _, err := b.configMap(service.Namespace, name); apierrors.IsNotFound(err) != gone {
			t.Errorf("%s: gone %v, want %v", name, !gone, gone)
		}
	}
	claim, err := b.admin.CoreV1().PersistentVolumeClaims(service.Namespace).Get(t.Context(), "data", metav1.GetOptions{})
	if err != nil || claim.Labels[kubeobj.ManagedLabel] != "" {
		t.Errorf("a claim is never pruned, only let go: %v", err)
	}
	if state, _ := b.engine.State(service.ID); state.Objects != 7 || state.TarballDigest != "d2" {
		t.Errorf("state is %+v", state)
	}
}

func TestLargePruneIsHeldUntilApproved(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	service.PruneApproval = 3
	b.pass(service, maps(12)...)

	service.TarballDigest = "d2"
	for name, rest := range map[string][]string{"half": maps(6), "nothing": nil} {
		result := b.pass(service, rest...)
		if result.Sync != apply.SyncHeld || result.Reason != apply.ReasonPruneHeld || b.count(service.Namespace) != 12 {
			t.Errorf("%s: %+v, %d objects left", name, result, b.count(service.Namespace))
		}
	}
	b.called(service, "d2")
	b.pass(service)
	mark := b.mark()
	b.pass(service)
	b.engine = b.restart(nil)
	if result := b.pass(service); result.Phase != apply.PhasePruneHeld {
		t.Errorf("a held prune survives no restart: %+v", result)
	}
	for _, e := range b.requests(mark) {
		if e.Verb != "list" { // the new agent's first
			t.Errorf("a held prune costs %s %s", e.Verb, e.URI)
		}
	}
	service.PruneApproval = 4
	if result := b.pass(service, maps(6)...); result.Phase != apply.PhaseApplied || result.Pruned != 6 || b.count(service.Namespace) != 6 {
		t.Errorf("approved: %+v", result)
	}
	// An approval is used up.
	if result := b.pass(service); result.Phase != apply.PhasePruneHeld || b.count(service.Namespace) != 6 {
		t.Errorf("an approval works twice: %+v", result)
	}
}

func TestPartialRenderPrunesNothing(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	b.pass(service, maps(4)...)
	service.TarballDigest, service.Partial = "d2", "the lookup of Secret a/b was forbidden"
	if result := b.pass(service, maps(3)...); result.Pruned != 0 || b.count(service.Namespace) != 4 || len(result.Problems) != 1 {
		t.Errorf("%+v", result)
	}
	b.called(service, "d2")
	service.Partial = ""
	if result := b.pass(service, maps(3)...); result.Pruned != 1 || b.count(service.Namespace) != 3 {
		t.Errorf("after it: %+v", result)
	}
}

func TestBrokenManifestDeletesNothing(t *testing.T) {
	b := newBed(t, nil)
	service := newService("d1")
	b.pass(service, maps(3)...)
	broken := "apiVersion: v1\nkind: ConfigMapp\nmetadata: {name: m1}\ndata: {key: v}"
	if result := b.pass(service, maps(3)[0], broken); result.Sync != apply.SyncFailed || b.count(service.Namespace) != 3 {
		t.Errorf("%+v", result)
	}
}

func TestDrainDeletesAndDetachLeaves(t *testing.T) {
	b := newBed(t, nil)
	for name, detach := range map[string]bool{"drain": false, "detach": true} {
		t.Run(name, func(t *testing.T) {
			service := newService("d1")
			service.DeleteNamespace = true
			b.pass(service, maps(8)...)
			leave, want := b.engine.Drain, 0
			if detach {
				leave, want = b.engine.Detach, 8
			}
			result, err := leave(t.Context(), b.permit(b.engine, service), service)
			if err != nil || !result.Done {
				t.Fatalf("%+v %v", result, err)
			}
			list, err := b.admin.CoreV1().ConfigMaps(service.Namespace).List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != want {
				t.Errorf("%d objects stay, want %d (%v)", len(list.Items), want, err)
			}
			if marked := b.count(service.Namespace); marked != 0 {
				t.Errorf("%d objects keep our label", marked)
			}
			if _, known := b.restart(nil).State(service.ID); known {
				t.Error("the inventory stays")
			}
			// An answer that was lost: asked again, it is done.
			again := b.restart(nil)
			if again, err := again.Drain(t.Context(), b.permit(again, service), service); err != nil || !again.Done {
				t.Errorf("again: %+v %v", again, err)
			}
		})
	}
}

// called checks which revision is called applied: all of it is written, only the prune waits.
func (b *bed) called(service apply.Service, digest string) {
	b.t.Helper()
	if state, _ := b.engine.State(service.ID); state.TarballDigest != digest || state.SpecDigest != service.SpecDigest {
		b.t.Errorf("applied is %+v, want %s", state, digest)
	}
}
