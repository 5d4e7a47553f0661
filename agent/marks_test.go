package agent_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/test/kube"
)

// Marks that somebody removed from an object come back by themselves, each of them
// and all together, and the next revision is delivered.
func TestMarksComeBack(t *testing.T) {
	p, _ := start(t, kube.Shared(t), "agent-of-marks", "system:masters")
	s := service("marks")
	p.pass(s, web)
	p.quiet(s.ID)
	maps := p.admin.CoreV1().ConfigMaps(s.Namespace)
	ref := kubeobj.Ref{Kind: "ConfigMap", Namespace: s.Namespace, Name: "web"}
	first, err := maps.Get(t.Context(), "web", metav1.GetOptions{})
	needs(t, err)
	for name, meta := range map[string]string{
		"tracking": `"annotations":{"` + kubeobj.TrackingAnnotation + `":null}`,
		"service":  `"annotations":{"` + kubeobj.ServiceAnnotation + `":null}`,
		"label":    `"labels":{"` + kubeobj.ManagedLabel + `":null}`,
		"all":      `"annotations":null,"labels":null`,
	} {
		_, err := maps.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"metadata":{`+meta+`}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
		needs(t, err)
		eventually.For(t, patience, name+" comes back", func() error {
			o, err := maps.Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if live := kubeobj.Reduce(ref, o); !live.Owned(s.ID) || live.Cluster != "c-1" || live.UID != first.UID {
				return fmt.Errorf("%v %v", o.Labels, o.Annotations)
			}
			return nil
		})
	}
	s.TarballDigest = "axle1:2"
	if result := p.pass(s, web); result.Phase != apply.PhaseApplied {
		t.Errorf("%+v", result)
	}
}
