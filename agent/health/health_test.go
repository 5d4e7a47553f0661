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

func TestBuiltInKinds(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, generation: 2}\n"
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
	for name, test := range map[string]struct {
		object string
		want   health.Status
	}{
		"deployment not observed":       {deployment + "spec: {replicas: 1}\nstatus: {observedGeneration: 1, updatedReplicas: 1, availableReplicas: 1, replicas: 1}", health.Progressing},
		"deployment without any status": {deployment + "spec: {replicas: 1}", health.Progressing},
		"deployment updating":           {deployment + "spec: {replicas: 2}\nstatus: {observedGeneration: 2, updatedReplicas: 1, availableReplicas: 2, replicas: 2}", health.Progressing},
		"deployment with old pods":      {deployment + "spec: {replicas: 1}\nstatus: {observedGeneration: 2, updatedReplicas: 1, availableReplicas: 1, replicas: 2}", health.Progressing},
		"deployment available":          {deployment + "spec: {replicas: 2}\nstatus: {observedGeneration: 2, updatedReplicas: 2, availableReplicas: 2, replicas: 2}", health.Healthy},
		"deployment scaled to none":     {deployment + "spec: {replicas: 0}\nstatus: {observedGeneration: 2}", health.Healthy},
		"deployment paused":             {deployment + "spec: {paused: true}", health.Suspended},
		"deployment stuck":              {deployment + "spec: {replicas: 2}\nstatus: {observedGeneration: 2, updatedReplicas: 1, conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]}", health.Degraded},
		"stateful set rolling":          {"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {generation: 1}\nspec: {replicas: 1}\nstatus: {observedGeneration: 1, readyReplicas: 1, currentRevision: a, updateRevision: b}", health.Progressing},
		"stateful set done":             {"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {generation: 1}\nspec: {replicas: 1}\nstatus: {observedGeneration: 1, readyReplicas: 1, currentRevision: b, updateRevision: b}", health.Healthy},
		"daemon set short":              {"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {generation: 1}\nstatus: {observedGeneration: 1, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 2}", health.Progressing},
		"daemon set done":               {"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {generation: 1}\nstatus: {observedGeneration: 1, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3}", health.Healthy},
		"replica set failure":           {"apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {generation: 1}\nstatus: {observedGeneration: 1, conditions: [{type: ReplicaFailure, status: 'True', message: quota}]}", health.Degraded},
		"job running":                   {"apiVersion: batch/v1\nkind: Job\nstatus: {active: 1}", health.Progressing},
		"job done":                      {"apiVersion: batch/v1\nkind: Job\nstatus: {conditions: [{type: Complete, status: 'True'}]}", health.Healthy},
		"job failed":                    {"apiVersion: batch/v1\nkind: Job\nstatus: {conditions: [{type: Failed, status: 'True', message: backoff}]}", health.Degraded},
		"job suspended":                 {"apiVersion: batch/v1\nkind: Job\nspec: {suspend: true}\nstatus: {conditions: [{type: Suspended, status: 'True'}]}", health.Suspended},
		"cron job":                      {"apiVersion: batch/v1\nkind: CronJob\nspec: {schedule: x}", health.Healthy},
		"cron job suspended":            {"apiVersion: batch/v1\nkind: CronJob\nspec: {suspend: true}", health.Suspended},
		"pod starting":                  {pod + "spec: {restartPolicy: Always}\nstatus: {phase: Pending}", health.Progressing},
		"pod crashing":                  {pod + "spec: {restartPolicy: Always}\nstatus: {phase: Running, containerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}}]}", health.Degraded},
		"pod without image":             {pod + "status: {phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: ImagePullBackOff}}}]}", health.Degraded},
		"pod ready":                     {pod + "spec: {restartPolicy: Always}\nstatus: {phase: Running, conditions: [{type: Ready, status: 'True'}]}", health.Healthy},
		"pod done":                      {pod + "status: {phase: Succeeded}", health.Healthy},
		"pod failed":                    {pod + "status: {phase: Failed, containerStatuses: [{name: a, state: {terminated: {exitCode: 3}}}]}", health.Degraded},
		"claim waiting":                 {"apiVersion: v1\nkind: PersistentVolumeClaim\nstatus: {phase: Pending}", health.Progressing},
		"claim bound":                   {"apiVersion: v1\nkind: PersistentVolumeClaim\nstatus: {phase: Bound}", health.Healthy},
		"claim lost":                    {"apiVersion: v1\nkind: PersistentVolumeClaim\nstatus: {phase: Lost}", health.Degraded},
		"service":                       {"apiVersion: v1\nkind: Service\nspec: {type: ClusterIP}", health.Healthy},
		"load balancer waiting":         {"apiVersion: v1\nkind: Service\nspec: {type: LoadBalancer}", health.Progressing},
		"load balancer":                 {"apiVersion: v1\nkind: Service\nspec: {type: LoadBalancer}\nstatus: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}", health.Healthy},
		"ingress waiting":               {"apiVersion: networking.k8s.io/v1\nkind: Ingress", health.Progressing},
		"autoscaler failing":            {"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nstatus: {conditions: [{type: AbleToScale, status: 'False', message: no}]}", health.Degraded},
		"autoscaler":                    {"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nstatus: {conditions: [{type: AbleToScale, status: 'True'}]}", health.Healthy},
		"API service":                   {"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nstatus: {conditions: [{type: Available, status: 'False', message: no}]}", health.Progressing},
		"definition":                    {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nstatus: {conditions: [{type: Established, status: 'True'}]}", health.Healthy},
		"definition with taken names":   {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nstatus: {conditions: [{type: NamesAccepted, status: 'False'}]}", health.Degraded},
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
