package agent_test

import (
	"context"
	"encoding/json"
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
	"github.com/axle-cd/axle/agent/drift"
	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/agent/render"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeobj"
	"github.com/axle-cd/axle/test/kube"
)

// documentedExpressions is the rule in CEL of the specification.
func documentedExpressions(t *testing.T) []byte {
	t.Helper()
	return documented(t, "../docs/spec/kinds/customhealth.md")
}

// exampleOf is the object that the page of a kind shows.
func exampleOf(t *testing.T, kind string) []byte {
	t.Helper()
	text, err := os.ReadFile("../examples/kinds/" + kind + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// nobodysObjects are objects of no service.
type nobodysObjects struct{}

func (nobodysObjects) Expected(kubeobj.Ref) (kubeobj.Expected, bool) {
	return kubeobj.Expected{}, false
}
func (nobodysObjects) ExpectedOf(kubeobj.Kind) []kubeobj.Expected { return nil }
func (nobodysObjects) Objects(string) []kubeobj.Expected          { return nil }
func (nobodysObjects) Heal(context.Context, string, []kubeobj.Ref) ([]kubeobj.Healed, error) {
	return nil, nil
}

// followedRules are the rules of a cluster that an agent follows.
type followedRules struct {
	cluster *kube.Cluster
	client  dynamic.Interface
	rules   *health.Rules
	runner  *render.Runner
	binary  string
	watcher atomic.Pointer[drift.Watcher]
}

func (f *followedRules) changed() {
	if w := f.watcher.Load(); w != nil {
		w.RulesChanged()
	}
}

const topicsCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: topics.streams.example.org}
spec:
  group: streams.example.org
  scope: Namespaced
  names: {kind: Topic, listKind: TopicList, plural: topics, singular: topic}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// judgeByExpressions gives a cluster a kind and a CEL rule for it, and follows one
// object from its creation until it is healthy, through the API server, the watch and
// the render child.
func (f *followedRules) judgeByExpressions(t *testing.T) {
	t.Helper()
	crds := f.client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := crds.Create(t.Context(), objectOf(t, []byte(topicsCRD)), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	watcher, err := drift.New(drift.Config{REST: f.cluster.Config(), ClusterID: "c", Rules: f.rules, Expressions: agent.Verdicts(f.runner)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { _ = watcher.Run(ctx, nobodysObjects{}) })
	f.watcher.Store(watcher)
	kind := kubeobj.Kind{Group: "streams.example.org", Version: "v1", Kind: "Topic", Resource: "topics", Namespaced: true}
	topics := f.client.Resource(schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: kind.Resource}).Namespace("default")
	topic := &unstructured.Unstructured{Object: map[string]any{"apiVersion": kind.APIVersion(), "kind": kind.Kind,
		"metadata": map[string]any{"name": "orders", "labels": map[string]any{kubeobj.ManagedLabel: "c"}}, "spec": map[string]any{"partitions": int64(3)}}}
	eventually.For(t, time.Minute, "the kind is served", func() error {
		_, err := topics.Create(t.Context(), topic, metav1.CreateOptions{})
		return err
	})
	watcher.Watch([]kubeobj.Kind{kind})
	is := func(want health.Result) {
		t.Helper()
		eventually.For(t, 2*time.Minute, "the topic is "+string(want.Status), func() error {
			live, found, synced := watcher.Lookup(kind, kubeobj.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: "default", Name: "orders"})
			if !found || !synced || live.Health != string(want.Status) || live.Message != want.Message {
				return fmt.Errorf("found %v, in sync %v, it is %q: %q", found, synced, live.Health, live.Message)
			}
			return nil
		})
	}
	status := func(text string) {
		t.Helper()
		if _, err := topics.Patch(t.Context(), "orders", types.MergePatchType, []byte(`{"status":`+text+`}`), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	all := f.client.Resource(schema.GroupVersionResource{Group: "deployments.plural.sh", Version: "v1alpha1", Resource: "customhealths"}).Namespace("default")
	rule := func(spec string) error {
		_, err := all.Patch(t.Context(), "topics", types.MergePatchType, []byte(`{"spec":`+spec+`}`), metav1.PatchOptions{})
		return err
	}
	is(health.Result{Status: health.Missing}) // the script that it has now
	found, _, _ := unstructured.NestedMap(objectOf(t, documentedExpressions(t)).Object, "spec", "expressions")
	expressions, err := json.Marshal(found)
	if err != nil || len(found) == 0 {
		t.Fatalf("the documented rule has no expressions: %v", err)
	}
	if err := rule(`{"expressions":{"current":"true"}}`); err == nil || !strings.Contains(err.Error(), "a script or expressions, not both") {
		t.Fatalf("%v for a rule with both", err)
	}
	if err := rule(`{"script":null,"expressions":{"failed":"true"}}`); err == nil || !strings.Contains(err.Error(), "current") {
		t.Fatalf("%v for a rule without current", err)
	}
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
			if c["status"] != status || c["reason"] != reason || !strings.Contains(fmt.Sprint(c["message"]), message) || c["observedGeneration"] != got.GetGeneration() {
				return fmt.Errorf("it has %v at generation %d", c, got.GetGeneration())
			}
			return nil
		})
	}
	// Without the program the rule is in force, and nothing is Healthy by it.
	away := f.binary + ".away"
	if err := os.Rename(render.Rare(f.binary), away); err != nil {
		t.Fatal(err)
	}
	if err := rule(`{"script":null,"expressions":` + string(expressions) + `}`); err != nil {
		t.Fatal(err)
	}
	says("Unknown", "Unchecked", "does not answer")
	eventually.For(t, 2*time.Minute, "the topic is Unknown", func() error {
		live, _, _ := watcher.Lookup(kind, kubeobj.Ref{Group: kind.Group, Kind: kind.Kind, Namespace: "default", Name: "orders"})
		if live.Health != string(health.Unknown) || !strings.Contains(live.Message, "does not start") {
			return fmt.Errorf("it is %q: %q", live.Health, live.Message)
		}
		return nil
	})
	if err := os.Rename(away, render.Rare(f.binary)); err != nil {
		t.Fatal(err)
	}
	says("True", "InForce", "")
	is(health.Result{Status: health.Progressing, Message: "waiting for the broker"})
	status(`{"phase":"Running","partitions":3}`)
	is(health.Result{Status: health.Healthy, Message: "3 partitions"})
	status(`{"phase":"Failed","reason":"no quota"}`)
	is(health.Result{Status: health.Degraded, Message: "no quota"})
	if err := rule(`{"expressions":{"current":"true &&\n nowhere","failed":null,"message":null}}`); err != nil {
		t.Fatal(err)
	}
	says("False", "Invalid", "line 2, column 2: undeclared reference to 'nowhere'")
	is(health.Result{Status: health.Healthy}) // as kstatus says, without the rule
	if err := rule(`{"expressions":{"current":"status.none == 1"}}`); err != nil {
		t.Fatal(err)
	}
	is(health.Result{Status: health.Unknown, Message: "rule default/topics: expression current: no such key: none"})
}
