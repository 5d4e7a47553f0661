//go:build soak

package proxy_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/test/kube"
)

// The component files of the list, as tools/capi makes them, are delivered by the command, a hub and an agent to
// an API server, which takes each object with strict validation. cert-manager's kinds take anything here, and no
// manager runs.
func TestComponentFilesAreDeliveredWhole(t *testing.T) {
	ctx := t.Context()
	c, err := kube.Lease(ctx, kube.ClusterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := letAdministrate(ctx, c); err != nil {
		t.Fatal(err)
	}
	i := &installed{kube: c, folder: t.TempDir(), whole: newWholeOf(t, c, hubtest.HubConfig{})}
	if i.api, err = kubernetes.NewForConfig(c.Config()); err != nil {
		t.Fatal(err)
	}
	made := exec.CommandContext(ctx, "go", "-C", "../../tools/capi", "run", ".", "components", "--out", i.folder)
	made.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	i.certManager("certificates", "issuers")
	for _, provider := range []string{"docker", "aws", "gcp"} {
		i.install("--provider", provider)
	}
	all, some := i.list()
	if some != len(all) || some < 6 {
		t.Fatalf("installed are %v", all)
	}
	eventually.For(t, 5*time.Minute, "all components are applied", func() error {
		all, _ := i.list()
		for name, c := range all {
			if c.Sync != "Synced" {
				return fmt.Errorf("%s is %q: %s", name, c.Sync, c.Message)
			}
		}
		return nil
	})
	i.refusedStrictly(all)
}

// refusedStrictly reports the objects of components that the API server refuses with strict validation.
func (i *installed) refusedStrictly(all map[string]component) {
	t := i.t
	applier, err := kubeapply.New(i.kube.Config())
	if err != nil {
		t.Fatal(err)
	}
	for name := range all {
		text, err := os.ReadFile(i.file(name))
		if err != nil {
			t.Fatal(err)
		}
		objects, err := kubeapply.Documents(text)
		if err != nil || len(objects) < 10 {
			t.Fatalf("%s has %d objects: %v", name, len(objects), err)
		}
		for _, o := range objects {
			at, err := applier.Resource(o)
			if err != nil {
				t.Fatal(err)
			}
			data, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			force := true
			if _, err := at.Patch(t.Context(), o.GetName(), types.ApplyPatchType, data, metav1.PatchOptions{
				FieldManager: "strict", FieldValidation: "Strict", Force: &force, DryRun: []string{metav1.DryRunAll},
			}); err != nil {
				t.Errorf("%s, %s: %v", name, kubeapply.Name(o), err)
			}
		}
	}
}
