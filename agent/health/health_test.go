package health_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/health"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// TestKinds tests which rule judges; internal/kubehealth tests the built-in ones.
func TestKinds(t *testing.T) {
	for name, test := range map[string]struct {
		object string
		want   health.Status
	}{
		"a built-in kind":               {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {generation: 2}\nspec: {replicas: 1}", health.Progressing},
		"a budget that allows none now": {"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {generation: 1}\nstatus: {observedGeneration: 1, desiredHealthy: 1, conditions: [{type: DisruptionAllowed, status: 'False', reason: InsufficientPods}]}", health.Healthy},
		"config map":                    {"apiVersion: v1\nkind: ConfigMap", health.Healthy},
		"being deleted":                 {"apiVersion: v1\nkind: ConfigMap\nmetadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}", health.Progressing},
		"custom without status":         {"apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a}", health.Healthy},
		"custom reconciling":            {"apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a, generation: 2}\nstatus: {observedGeneration: 1}", health.Progressing},
		"custom ready":                  {"apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a}\nstatus: {conditions: [{type: Ready, status: 'True'}]}", health.Healthy},
		"custom failed":                 {"apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a}\nstatus: {conditions: [{type: Ready, status: 'False', reason: InstallFailed}]}", health.Degraded},
		"custom on its way":             {"apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a}\nstatus: {conditions: [{type: Ready, status: 'False', reason: Waiting}]}", health.Progressing},
		"custom stalled":                {"apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a}\nstatus: {conditions: [{type: Stalled, status: 'True'}]}", health.Degraded},
		"nothing":                       {"{}", health.Missing},
		"no kind":                       {"metadata: {name: a}", health.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(test.object), &object.Object); err != nil {
				t.Fatal(err)
			}
			if got := health.Of(object); got.Status != test.want {
				t.Errorf("%+v, want %s", got, test.want)
			}
		})
	}
}

func TestKindsWithoutRuleNeedNoWholeObjects(t *testing.T) {
	for kind, want := range map[schema.GroupKind]bool{
		{Kind: "ConfigMap"}: false, {Kind: "Secret"}: false, {Group: "rbac.authorization.k8s.io", Kind: "Role"}: false,
		{Kind: "Service"}: true, {Group: "apps", Kind: "Deployment"}: true, {Group: "example.org", Kind: "Thing"}: true,
	} {
		if got := health.HasRule(kind); got != want {
			t.Errorf("%v: %v", kind, got)
		}
	}
}

func component(name string, status health.Status) *agentv1.Component {
	return &agentv1.Component{Kind: "Pod", Namespace: "ns", Name: name, Health: string(status), Message: "m-" + name}
}

func TestRollUpNamesTheFirstOfTheWorst(t *testing.T) {
	got := health.RollUp([]*agentv1.Component{component("a", health.Healthy), component("b", health.Progressing),
		component("c", health.Degraded), component("d", health.Unknown), component("e", health.Degraded)})
	if got.Status != health.Degraded || !strings.Contains(got.Message, "ns/c") || !strings.Contains(got.Message, "1 more") {
		t.Errorf("%+v", got)
	}
	if got := health.RollUp(nil); got.Status != health.Healthy || got.Message != "" {
		t.Errorf("%+v", got)
	}
}

func TestPackKeepsTheWorstWithinTheLimit(t *testing.T) {
	var all []*agentv1.Component
	for n := range 5000 {
		c := component(fmt.Sprintf("p%d", n), health.Healthy)
		c.Uid = fmt.Sprintf("%x-%x", n*2654435761, n*40503*n)
		all = append(all, c)
	}
	all[4000].Health = string(health.Degraded)
	all[4000].Message = strings.Repeat("ä", 4000)
	blob, counts := health.Pack(all)
	if len(blob) > 64<<10 || counts.GetTotal() != 5000 || counts.GetDegraded() != 1 || counts.GetHealthy() != 4999 {
		t.Errorf("%d bytes, %v", len(blob), counts)
	}
	decoder, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer decoder.Close()
	raw, err := decoder.DecodeAll(blob, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list agentv1.ComponentList
	if err := proto.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	if !list.GetTruncated() || len(list.GetComponents()) != 200 || list.GetComponents()[0].GetName() != "p4000" {
		t.Errorf("%d components, truncated %v, first %v", len(list.GetComponents()), list.GetTruncated(), list.GetComponents()[0].GetName())
	}
	all[0], all[1] = all[1], all[0]
	if again, _ := health.Pack(all); string(again) != string(blob) {
		t.Error("another order gives other bytes")
	}
}
