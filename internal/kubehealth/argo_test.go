package kubehealth_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/kubehealth"
)

const (
	healthy     = kubehealth.Healthy
	progressing = kubehealth.Progressing
	degraded    = kubehealth.Degraded
	suspended   = kubehealth.Suspended
	unknown     = kubehealth.Unknown
)

// cases are objects of one kind, as the lines below its name, and what Argo CD
// says of each.
type cases struct {
	head string
	of   []verdict
}

type verdict struct {
	name, rest string
	want       kubehealth.Status
}

// TestVerdictsOfArgoCD goes through every branch of the rules that Argo CD
// builds in, kind by kind.
func TestVerdictsOfArgoCD(t *testing.T) {
	for kind, c := range map[string]cases{
		"Deployment": {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, generation: 2}\n", []verdict{
			{"paused comes first", "spec: {paused: true, replicas: 1}\nstatus: {observedGeneration: 1}", suspended},
			{"nothing observed", "spec: {replicas: 1}", progressing},
			{"an older generation observed", "spec: {replicas: 1}\nstatus: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1}", progressing},
			{"its deadline exceeded", "spec: {replicas: 1}\nstatus: {observedGeneration: 2, conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]}", degraded},
			{"too few are updated", "spec: {replicas: 2}\nstatus: {observedGeneration: 2, replicas: 2, updatedReplicas: 1, availableReplicas: 2}", progressing},
			{"old ones are left", "spec: {replicas: 2}\nstatus: {observedGeneration: 2, replicas: 3, updatedReplicas: 2, availableReplicas: 3}", progressing},
			{"too few are available", "spec: {replicas: 2}\nstatus: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 1}", progressing},
			{"all are there", "spec: {replicas: 2}\nstatus: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2}", healthy},
			{"scaled to none", "spec: {replicas: 0}\nstatus: {observedGeneration: 2}", healthy},
			{"Available is False, but enough are there", "spec: {replicas: 1}\nstatus: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: 'False'}]}", healthy},
		}},
		"StatefulSet": {"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a, generation: 2}\n", []verdict{
			{"nothing observed", "spec: {replicas: 1}", progressing},
			{"an older generation observed", "spec: {replicas: 1}\nstatus: {observedGeneration: 1, readyReplicas: 1}", progressing},
			{"too few are ready", "spec: {replicas: 2}\nstatus: {observedGeneration: 2, readyReplicas: 1}", progressing},
			{"a partition is not reached", "spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}}\nstatus: {observedGeneration: 2, readyReplicas: 3, updatedReplicas: 1}", progressing},
			{"a partition is reached", "spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}}\nstatus: {observedGeneration: 2, readyReplicas: 3, updatedReplicas: 2, currentRevision: a, updateRevision: b}", healthy},
			{"a partition of none, short", "spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}\nstatus: {observedGeneration: 2, readyReplicas: 3, updatedReplicas: 2, currentRevision: a, updateRevision: a}", progressing},
			{"a partition of none, all updated", "spec: {replicas: 3, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}\nstatus: {observedGeneration: 2, readyReplicas: 3, updatedReplicas: 3, currentRevision: a, updateRevision: b}", healthy},
			{"rolling without a partition", "spec: {replicas: 1, updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 2}}}\nstatus: {observedGeneration: 2, readyReplicas: 1, currentRevision: a, updateRevision: b}", healthy},
			{"OnDelete", "spec: {replicas: 1, updateStrategy: {type: OnDelete}}\nstatus: {observedGeneration: 2, readyReplicas: 1, currentRevision: a, updateRevision: b}", healthy},
			{"between revisions", "spec: {replicas: 1, updateStrategy: {type: RollingUpdate}}\nstatus: {observedGeneration: 2, readyReplicas: 1, currentRevision: a, updateRevision: b}", progressing},
			{"at its revision", "spec: {replicas: 1, updateStrategy: {type: RollingUpdate}}\nstatus: {observedGeneration: 2, readyReplicas: 1, currentRevision: b, updateRevision: b}", healthy},
		}},
		"DaemonSet": {"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a, generation: 2}\n", []verdict{
			{"nothing observed", "", progressing},
			{"OnDelete", "spec: {updateStrategy: {type: OnDelete}}\nstatus: {observedGeneration: 2, desiredNumberScheduled: 3}", healthy},
			{"too few are updated", "status: {observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 2, numberAvailable: 3}", progressing},
			{"too few are available", "status: {observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 2}", progressing},
			{"on all nodes", "status: {observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3}", healthy},
			{"on no node", "status: {observedGeneration: 2}", healthy},
		}},
		"ReplicaSet": {"apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: a, generation: 2}\n", []verdict{
			{"nothing observed", "spec: {replicas: 1}", progressing},
			{"it cannot make pods", "spec: {replicas: 1}\nstatus: {observedGeneration: 2, conditions: [{type: ReplicaFailure, status: 'True'}]}", degraded},
			{"it could not make pods", "spec: {replicas: 1}\nstatus: {observedGeneration: 2, availableReplicas: 1, conditions: [{type: ReplicaFailure, status: 'False'}]}", healthy},
			{"too few are available", "spec: {replicas: 2}\nstatus: {observedGeneration: 2, availableReplicas: 1}", progressing},
			{"all are available", "spec: {replicas: 2}\nstatus: {observedGeneration: 2, availableReplicas: 2}", healthy},
		}},
		"Job": {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n", []verdict{
			{"not begun", "", progressing},
			{"it runs", "status: {active: 1}", progressing},
			{"asked to stop, not stopped yet", "spec: {suspend: true}\nstatus: {active: 1}", progressing},
			{"it stopped", "spec: {suspend: true}\nstatus: {conditions: [{type: Suspended, status: 'True'}]}", suspended},
			{"it goes on after a stop", "status: {active: 1, conditions: [{type: Suspended, status: 'False'}]}", progressing}, // not Argo CD's: there it is Healthy
			{"it failed", "status: {conditions: [{type: FailureTarget, status: 'True'}, {type: Failed, status: 'True'}]}", degraded},
			{"it is complete", "status: {conditions: [{type: SuccessCriteriaMet, status: 'True'}, {type: Complete, status: 'True'}]}", healthy},
			{"it stopped, then failed", "status: {conditions: [{type: Suspended, status: 'True'}, {type: Failed, status: 'True'}]}", degraded},
			{"it went on and is complete", "status: {conditions: [{type: Suspended, status: 'False'}, {type: Complete, status: 'True'}]}", healthy},
		}},
		"CronJob": {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\n", []verdict{
			{"no status", "spec: {}", progressing},
			{"suspended", "spec: {suspend: true}\nstatus: {}", healthy},
			{"not scheduled yet", "status: {}", healthy},
			{"it never succeeded", "status: {lastScheduleTime: '2026-01-01T01:00:00Z'}", healthy},
			{"it runs after one that succeeded", "status: {active: [{name: a}], lastScheduleTime: '2026-01-01T02:00:00Z', lastSuccessfulTime: '2026-01-01T01:00:05Z'}", healthy},
			{"its last run failed", "status: {active: [], lastScheduleTime: '2026-01-01T02:00:00Z', lastSuccessfulTime: '2026-01-01T01:00:05Z'}", degraded},
			{"its last run succeeded", "status: {lastScheduleTime: '2026-01-01T02:00:00Z', lastSuccessfulTime: '2026-01-01T02:00:05Z'}", healthy},
			{"its last run failed, and it is suspended", "spec: {suspend: true}\nstatus: {lastScheduleTime: '2026-01-01T02:00:00Z', lastSuccessfulTime: '2026-01-01T01:00:05Z'}", healthy},
		}},
		"PersistentVolumeClaim": {"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\n", []verdict{
			{"no phase", "spec: {}", unknown},
			{"waiting", "status: {phase: Pending}", progressing},
			{"bound", "status: {phase: Bound}", healthy},
			{"lost", "status: {phase: Lost}", degraded},
			{"a phase of tomorrow", "status: {phase: Else}", unknown},
		}},
		"Service": {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", []verdict{
			{"inside", "spec: {type: ClusterIP}", healthy},
			{"by name", "spec: {type: ExternalName}", healthy},
			{"no type", "spec: {}", healthy},
			{"balanced, waiting", "spec: {type: LoadBalancer}\nstatus: {loadBalancer: {}}", progressing},
			{"balanced", "spec: {type: LoadBalancer}\nstatus: {loadBalancer: {ingress: [{hostname: h}]}}", healthy},
		}},
		"Ingress": {"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\n", []verdict{
			{"waiting", "status: {loadBalancer: {}}", progressing},
			{"an empty address counts", "status: {loadBalancer: {ingress: [{}]}}", healthy},
			{"with an address", "status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}", healthy},
		}},
		"Ingress of old": {"apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n", []verdict{
			{"waiting", "status: {loadBalancer: {}}", progressing},
			{"with an address", "status: {loadBalancer: {ingress: [{ip: 1.2.3.4}]}}", healthy},
		}},
		"APIService": {"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: a}\n", []verdict{
			{"not looked at", "status: {}", progressing},
			{"away", "status: {conditions: [{type: Available, status: 'False', reason: MissingEndpoints}]}", progressing},
			{"nobody knows", "status: {conditions: [{type: Available, status: Unknown}]}", progressing},
			{"there", "status: {conditions: [{type: Available, status: 'True', reason: Passed}]}", healthy},
		}},
		"CustomResourceDefinition": {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n", []verdict{
			{"no conditions", "status: {}", progressing},
			{"no condition in the list", "status: {conditions: []}", progressing},
			{"going", "status: {conditions: [{type: Terminating, status: 'True'}, {type: Established, status: 'True'}]}", progressing},
			{"its names are taken", "status: {conditions: [{type: NamesAccepted, status: 'False'}, {type: Established, status: 'False', reason: NotAccepted}]}", degraded},
			{"its schema is no schema", "status: {conditions: [{type: Established, status: 'True'}, {type: NonStructuralSchema, status: 'True'}]}", degraded},
			{"coming", "status: {conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'False', reason: Installing}]}", progressing},
			{"never to come", "status: {conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'False', reason: NotAccepted}]}", degraded},
			{"not said", "status: {conditions: [{type: NamesAccepted, status: 'True'}]}", degraded},
			{"there", "status: {conditions: [{type: NamesAccepted, status: 'True'}, {type: Established, status: 'True'}]}", healthy},
		}},
		"PodDisruptionBudget": {"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a, generation: 1}\n", []verdict{
			{"no conditions", "status: {}", progressing},
			{"pods may go", "status: {observedGeneration: 1, conditions: [{type: DisruptionAllowed, status: 'True', reason: SufficientPods}]}", healthy},
			{"no pod may go now", "status: {observedGeneration: 1, currentHealthy: 0, desiredHealthy: 1, conditions: [{type: DisruptionAllowed, status: 'False', reason: InsufficientPods}]}", healthy},
			{"it cannot be computed", "status: {observedGeneration: 1, conditions: [{type: DisruptionAllowed, status: 'False', reason: SyncFailed}]}", degraded},
		}},
		"Workflow": {"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: a}\n", []verdict{
			{"not begun", "", progressing},
			{"waiting", "status: {phase: Pending}", progressing},
			{"running", "status: {phase: Running}", progressing},
			{"done", "status: {phase: Succeeded}", healthy},
			{"failed", "status: {phase: Failed, message: no}", degraded},
			{"in error", "status: {phase: Error, message: no}", degraded},
			{"a phase of tomorrow", "status: {phase: Else}", unknown},
		}},
	} {
		for _, v := range c.of {
			t.Run(kind+"/"+v.name, func(t *testing.T) { expect(t, c.head+v.rest, v.want) })
		}
	}
}

func expect(t *testing.T, text string, want kubehealth.Status) {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	if got := kubehealth.Of(object); got.Status != want {
		t.Errorf("%+v, want %s", got, want)
	}
}
