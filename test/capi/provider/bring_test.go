package provider_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/pages"
)

// brought connects the cluster, which no service of the hub made, by the commands of the page
// about it. Its agent is a pod there that registers with the token of exactly this cluster.
func (b *bed) brought(t *testing.T) {
	const page = "../../../docs/howto/bring-clusters.md"
	w := b.world
	blocks, err := pages.Script(page)
	b.must(err)
	if len(blocks) != 3 {
		t.Fatalf("%s has %d blocks, and not for the kind, the token and the object", page, len(blocks))
	}
	if _, err := w.Axle(t.Context(), "projects", "create", "shop"); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../../..")
	b.must(err)
	dir := t.TempDir()
	b.must(os.Symlink(filepath.Join(root, "deploy"), filepath.Join(dir, "deploy")))
	// The Cluster of the test has another name and namespace.
	words := strings.NewReplacer("capiClusterRef: {name: edge-7}", "capiClusterRef: {name: "+b.name+"}", "-n clusters", "-n "+b.namespace, "namespace: clusters", "namespace: "+b.namespace)
	for i, block := range blocks {
		if i == 1 {
			// A person takes longer to come here than API servers to enforce the policy.
			eventually.For(t, time.Minute, "the policy is in force", func() error {
				binding, err := b.core.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Get(t.Context(), "axle-capi-clusters", metav1.GetOptions{})
				if err == nil && time.Since(binding.CreationTimestamp.Time) < 7*time.Second {
					err = fmt.Errorf("it is of %s", binding.CreationTimestamp)
				}
				return err
			})
		}
		command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", words.Replace(block.Text))
		command.Dir = dir
		command.Env = append(os.Environ(), "AXLE_CONFIG="+w.Settings(), "KUBECONFIG="+w.Cluster(management).Kubeconfig(), "PATH="+filepath.Dir(w.Programs["axle"])+":"+os.Getenv("PATH"))
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s:%d\n%s\n%s: %v", page, block.Line, block.Text, out, err)
		}
	}
	eventually.For(t, 2*time.Minute, "the cluster in the hub", func() error {
		out, err := w.Axle(t.Context(), "clusters", "get", "edge-7")
		if text := strings.Join(strings.Fields(out.Out), " "); err != nil || !strings.Contains(text, "State: Fresh") || !strings.Contains(text, "Project: shop") || !strings.Contains(text, "tier=edge") {
			return fmt.Errorf("it has %s: %w", text, err)
		}
		return nil
	})
	// Its credentials are its own: what Cluster API keeps and the token of the hub stayed here.
	workload, err := kubernetes.NewForConfig(b.provider.Cluster(b.namespace, b.name).Config())
	b.must(err)
	token, err := b.core.CoreV1().Secrets(b.namespace).Get(t.Context(), "hub-token", metav1.GetOptions{})
	b.must(err)
	all, err := workload.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	b.must(err)
	for _, s := range all.Items {
		for _, data := range s.Data {
			if strings.Contains(string(data), strings.TrimSpace(string(token.Data["token"]))) {
				t.Errorf("Secret %s/%s has the bootstrap token", s.Namespace, s.Name)
			}
		}
	}
	if out, err := w.Axle(t.Context(), "clusters", "delete", "edge-7", "--detach", "--yes", "--timeout", "0"); err != nil {
		t.Fatalf("%s%s: %v", out.Out, out.Err, err)
	}
	b.must(b.core.CoreV1().Secrets(b.namespace).Delete(t.Context(), "hub-token", metav1.DeleteOptions{}))
}
