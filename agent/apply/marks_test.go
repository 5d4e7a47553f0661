package apply_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubeobj"
)

func (b *bed) patchMap(namespace, name, body string) {
	b.t.Helper()
	if _, err := b.admin.CoreV1().ConfigMaps(namespace).Patch(b.t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: "kubectl-annotate"}); err != nil {
		b.t.Fatal(err)
	}
}

// An object of the inventory that is still the very one is ours without its
// marks too: they are put back, and the next revision is delivered.
func TestLostMarksAreHealedAndDelivered(t *testing.T) {
	b := newBed(t, nil)
	for name, body := range map[string]string{
		"the tracking annotation":            `{"metadata":{"annotations":{"` + kubeobj.TrackingAnnotation + `":null}}}`,
		"the service annotation":             `{"metadata":{"annotations":{"` + kubeobj.ServiceAnnotation + `":null}}}`,
		"both":                               `{"metadata":{"annotations":null}}`,
		"both and the label":                 `{"metadata":{"annotations":null,"labels":null}}`,
		"it says another object":             `{"metadata":{"annotations":{"` + kubeobj.TrackingAnnotation + `":"/ConfigMap/elsewhere/one"}}}`,
		"copied from another service's":      `{"metadata":{"annotations":{"` + kubeobj.ServiceAnnotation + `":"svc-other","` + kubeobj.TrackingAnnotation + `":"/ConfigMap/elsewhere/one"}}}`,
		"a service that is not here is said": `{"metadata":{"annotations":{"` + kubeobj.ServiceAnnotation + `":"svc-other","` + kubeobj.TrackingAnnotation + `":null}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newService("d1")
			b.pass(s, configMap("one", "v1"))
			uid, ref := b.uidOf(s.Namespace, "one"), kubeobj.Ref{Kind: "ConfigMap", Namespace: s.Namespace, Name: "one"}
			b.patchMap(s.Namespace, "one", body)
			if _, err := b.engine.Heal(t.Context(), s.ID, []kubeobj.Ref{ref}); err != nil {
				t.Errorf("heal: %v", err)
			}
			b.marked(s, "one")
			b.patchMap(s.Namespace, "one", body)
			s.TarballDigest = "d2"
			if result := b.pass(s, configMap("one", "v2")); result.Phase != apply.PhaseApplied {
				t.Errorf("the next revision: %+v", result)
			}
			b.marked(s, "one")
			if o, err := b.configMap(s.Namespace, "one"); err != nil || o.Data["key"] != "v2" || o.UID != uid {
				t.Errorf("%v %v", o, err)
			}
		})
	}
}

// marked fails when an object does not say that it is the service's.
func (b *bed) marked(s apply.Service, name string) {
	b.t.Helper()
	o, err := b.configMap(s.Namespace, name)
	if err != nil {
		b.t.Fatal(err)
	}
	live := kubeobj.Reduce(kubeobj.Ref{Kind: "ConfigMap", Namespace: s.Namespace, Name: name}, o)
	if !live.Owned(s.ID) || live.Cluster != clusterID {
		b.t.Errorf("its marks are %v %v", o.Labels, o.Annotations)
	}
}

// An object that another service claims by now is not taken back, whatever the
// inventory says.
func TestLostMarksAreNoClaimAgainstOthers(t *testing.T) {
	b := newBed(t, nil)
	const noMarks = `{"metadata":{"annotations":null}}`
	for name, test := range map[string]struct {
		claim func(s apply.Service)
		says  string
	}{
		"another service has it": {func(s apply.Service) {
			other := newService("d1")
			other.Namespace, other.RequireOwnership = s.Namespace, false
			b.pass(other, configMap("one", "theirs"))
			b.patchMap(s.Namespace, "one", noMarks)
		}, "it belongs to service"},
		"another registration": {func(s apply.Service) {
			b.patchMap(s.Namespace, "one", `{"metadata":{"annotations":null,"labels":{"`+kubeobj.ManagedLabel+`":"c-2"}}}`)
		}, "another cluster registration"},
		"another apply set": {func(s apply.Service) {
			b.patchMap(s.Namespace, "one", `{"metadata":{"annotations":null,"labels":{"`+kubeobj.ApplySetLabel+`":"set-1"}}}`)
		}, "apply set"},
		"it was made anew by somebody": {func(s apply.Service) {
			if err := b.admin.CoreV1().ConfigMaps(s.Namespace).Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			b.kubectlMap(s.Namespace, "one")
		}, "no service of ours made it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService("d1")
			b.pass(s, configMap("one", "v1"))
			test.claim(s)
			before, err := b.configMap(s.Namespace, "one")
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.engine.Heal(t.Context(), s.ID, []kubeobj.Ref{{Kind: "ConfigMap", Namespace: s.Namespace, Name: "one"}})
			if !errcode.Is(err, errcode.Conflict) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("heal: %v", err)
			}
			s.TarballDigest = "d2"
			if result := b.pass(s, configMap("one", "v2")); result.Reason != apply.ReasonOwnership || !strings.Contains(result.Message, test.says) {
				t.Errorf("the next revision: %+v", result)
			}
			if after, err := b.configMap(s.Namespace, "one"); err != nil || after.ResourceVersion != before.ResourceVersion {
				t.Errorf("it was touched: %v", err)
			}
		})
	}
}
