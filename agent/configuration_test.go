package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/agent/poll"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

// taken notes the settings that were taken over.
type taken struct {
	mu  sync.Mutex
	now *poll.Settings
}

func (t *taken) Configure(s poll.Settings) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = &s
}

func (t *taken) is(want poll.Settings) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil || *t.now != want {
		return fmt.Errorf("settings are %+v, want %+v", t.now, want)
	}
	return nil
}

// documented reads the first YAML block of a page.
func documented(t *testing.T, page string) []byte {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("```yaml\n"))
	block, _, ok := bytes.Cut(rest, []byte("```"))
	if !ok {
		t.Fatalf("%s shows no YAML", page)
	}
	return block
}

func objectOf(t *testing.T, text []byte) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestConfigurationActsAtOnce follows an AgentConfiguration from before its CRD
// is there until it is deleted, on a real API server.
func TestConfigurationActsAtOnce(t *testing.T) {
	cluster := kube.Shared(t)
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	got := &taken{}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		if err := agent.FollowConfiguration(ctx, cluster.Kubeconfig(), got); err != nil {
			t.Error(err)
		}
	})
	eventually.For(t, time.Minute, "nothing is configured", func() error { return got.is(poll.Settings{}) })

	crd, err := os.ReadFile("../deploy/crds/deployments.plural.sh_agentconfigurations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := crds.Create(t.Context(), objectOf(t, crd), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	all := client.Resource(schema.GroupVersionResource{Group: "deployments.plural.sh", Version: "v1alpha1", Resource: "agentconfigurations"})
	example := objectOf(t, exampleOf(t, "agentconfiguration"))
	eventually.For(t, time.Minute, "the example is made", func() error {
		_, err := all.Create(t.Context(), example, metav1.CreateOptions{})
		return err
	})
	eventually.For(t, time.Minute, "the example acts", func() error {
		return got.is(poll.Settings{Interval: 30 * time.Second, Whole: 10 * time.Minute, Passes: 8})
	})
	patch := `{"spec":{"servicePollInterval":"1s","disableWebsocket":true}}`
	if _, err := all.Patch(t.Context(), "default", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, time.Minute, "the status names what cannot be used and what does nothing", func() error {
		o, err := all.Get(t.Context(), "default", metav1.GetOptions{})
		if err != nil {
			return err
		}
		status := fmt.Sprint(o.Object["status"])
		for _, text := range []string{"servicePollInterval \"1s\" is not a duration of at least 10s", "notActing:[disableWebsocket]", "observedGeneration:2"} {
			if !strings.Contains(status, text) {
				return fmt.Errorf("%q is not in %s", text, status)
			}
		}
		return got.is(poll.Settings{Whole: 10 * time.Minute, Passes: 8})
	})
	if err := all.Delete(t.Context(), "default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, time.Minute, "nothing is configured again", func() error { return got.is(poll.Settings{}) })
}
