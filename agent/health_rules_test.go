package agent_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

// TestRulesOfUsersActAtOnce follows a CustomHealth from before its CRD is there
// until it is deleted, on a real API server. The rule is the documented one.
func TestRulesOfUsersActAtOnce(t *testing.T) {
	cluster := kube.Shared(t)
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	var rules health.Rules
	var changes atomic.Int32
	runner, binary := judging(t)
	followed := &followedRules{cluster: cluster, client: client, rules: &rules, runner: runner, binary: binary}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		if err := agent.FollowHealthRules(ctx, cluster.Kubeconfig(), runner, &rules, func() { changes.Add(1); followed.changed() }); err != nil {
			t.Error(err)
		}
	})
	topic := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "streams.example.org/v1", "kind": "Topic",
		"status": map[string]any{"phase": "Failed", "reason": "no quota"}}}
	is := func(want health.Result) {
		t.Helper()
		eventually.For(t, 2*time.Minute, string(want.Status), func() error {
			if got := rules.Of(topic); got != want {
				return fmt.Errorf("it is %+v", got)
			}
			return nil
		})
	}
	is(health.Result{Status: health.Healthy}) // as kstatus says
	crd, err := os.ReadFile("../deploy/crds/deployments.plural.sh_customhealths.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := crds.Create(t.Context(), objectOf(t, crd), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	all := client.Resource(schema.GroupVersionResource{Group: "deployments.plural.sh", Version: "v1alpha1", Resource: "customhealths"}).Namespace("default")
	example := objectOf(t, exampleOf(t, "customhealth"))
	example.SetNamespace("default")
	eventually.For(t, time.Minute, "the example is made", func() error {
		_, err := all.Create(t.Context(), example, metav1.CreateOptions{})
		return err
	})
	is(health.Result{Status: health.Degraded, Message: "no quota"})
	says := func(status, reason, message string) {
		t.Helper()
		eventually.For(t, 2*time.Minute, "the rule says "+reason, func() error {
			got, err := all.Get(t.Context(), "topics", metav1.GetOptions{})
			if err != nil {
				return err
			}
			list, _, _ := unstructured.NestedSlice(got.Object, "status", "conditions")
			if len(list) != 1 {
				return fmt.Errorf("it has %v", list)
			}
			c, _ := list[0].(map[string]any)
			if c["type"] != "Ready" || c["status"] != status || c["reason"] != reason || !strings.Contains(fmt.Sprint(c["message"]), message) || c["observedGeneration"] != got.GetGeneration() {
				return fmt.Errorf("it has %v at generation %d", c, got.GetGeneration())
			}
			return nil
		})
	}
	says("True", "InForce", "")
	if _, err := all.Patch(t.Context(), "topics", types.MergePatchType, []byte(`{"spec":{"script":"return {status = 'Paused'}"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	is(health.Result{Status: health.Suspended})
	if _, err := all.Patch(t.Context(), "topics", types.MergePatchType, []byte(`{"spec":{"script":"local a = 1\nlocal b = = 2\nreturn {}"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	is(health.Result{Status: health.Healthy}) // a rule that is broken is left out
	says("False", "Invalid", "line:2")
	if _, err := all.Patch(t.Context(), "topics", types.MergePatchType, []byte(`{"spec":{"script":"return {status = 'Missing'}"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	is(health.Result{Status: health.Missing})
	says("True", "InForce", "")
	followed.judgeByExpressions(t)
	if err := crds.Delete(t.Context(), "customhealths.deployments.plural.sh", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	is(health.Result{Status: health.Healthy})
	if changes.Load() < 5 {
		t.Errorf("%d changes were told", changes.Load())
	}
}
