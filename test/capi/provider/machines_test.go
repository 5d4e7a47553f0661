package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/internal/eventually"
)

// machines are the names and uids of the Machine objects of the cluster, in order of name.
func (b *bed) machines() (names []string, uids map[string]types.UID) {
	b.Helper()
	list, err := b.client.Resource(machines).Namespace(b.namespace).List(b.Context(), metav1.ListOptions{})
	b.must(err)
	uids = map[string]types.UID{}
	for _, m := range list.Items {
		names, uids[m.GetName()] = append(names, m.GetName()), m.GetUID()
	}
	slices.Sort(names)
	return names, uids
}

// joinsNever waits until the machine that never joins is named with the reason by the hub, whose
// pool lacks it, and until the health check of the template has replaced it.
func (b *bed) joinsNever(axle func(...string) string) {
	b.Helper()
	lost := ""
	eventually.For(b, 2*time.Minute, "the machine that never joins is named", func() error {
		for _, line := range strings.Split(axle("clusters", "machines", "list", "edge"), "\n") {
			if fields := strings.Fields(line); lost == "" && strings.Contains(line, "NodeHealthy: Waiting for a Node with spec.providerID bed://") {
				lost = fields[0]
			}
		}
		if lost == "" {
			return fmt.Errorf("no machine waits for its node")
		}
		if text := axle("clusters", "get", "edge"); !strings.Contains(text, "workers: 1/2 ready") {
			return fmt.Errorf("the pool lacks no machine: %s", text)
		}
		return nil
	})
	eventually.For(b, 3*time.Minute, "the health check replaces the machine", func() error {
		if names, _ := b.machines(); slices.Contains(names, lost) {
			return fmt.Errorf("%s is still there", lost)
		}
		return nil
	})
}

// front is a pod on a node, which a PodDisruptionBudget keeps there.
func (b *bed) front(workload kubernetes.Interface, node string) {
	b.Helper()
	ctx, labels := b.Context(), map[string]string{"app": "front"}
	_, err := workload.PolicyV1().PodDisruptionBudgets("default").Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "front"}, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}, metav1.CreateOptions{})
	b.must(err)
	_, err = workload.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "front", Labels: labels},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "front", Image: "front.example.test/front:1"}}},
	}, metav1.CreateOptions{})
	b.must(err)
	_, err = workload.CoreV1().Pods("default").Patch(ctx, "front", types.MergePatchType, []byte(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`), metav1.PatchOptions{}, "status")
	b.must(err)
	eventually.For(b, time.Minute, "the budget counts the pod", func() error {
		budget, err := workload.PolicyV1().PodDisruptionBudgets("default").Get(ctx, "front", metav1.GetOptions{})
		if err == nil && budget.Status.CurrentHealthy != 1 {
			err = fmt.Errorf("it counts %d", budget.Status.CurrentHealthy)
		}
		return err
	})
}

// replaces replaces a machine whose pod may not be evicted: that is shown, the hub and the
// agent are killed meanwhile, and afterwards exactly that machine is another one.
func (b *bed) replaces(axle func(...string) string) {
	b.Helper()
	ctx := b.Context()
	workload, err := kubernetes.NewForConfig(b.provider.Cluster(b.namespace, b.name).Config())
	b.must(err)
	names, before := b.machines()
	if len(names) != 2 {
		b.Fatalf("there are the machines %q", names)
	}
	old, stays := names[0], names[1]
	o, err := b.client.Resource(machines).Namespace(b.namespace).Get(ctx, old, metav1.GetOptions{})
	b.must(err)
	node, _, err := unstructured.NestedString(o.Object, "status", "nodeRef", "name")
	b.must(err)
	b.front(workload, node)

	eventually.For(b, time.Minute, "the hub knows the machine", func() error {
		if text := axle("clusters", "machines", "list", "edge", "-o", "json"); !strings.Contains(text, string(before[old])) {
			return fmt.Errorf("it lists %s", text)
		}
		return nil
	})
	axle("clusters", "machines", "replace", "edge", old, "--yes", "--timeout", "0")
	eventually.For(b, 2*time.Minute, "the drain waits", func() error {
		for _, text := range []string{axle("clusters", "get", "edge"), axle("clusters", "machines", "list", "edge", "-o", "json")} {
			if !strings.Contains(text, "Pod default/front: cannot evict pod as it would violate the pod's disruption budget") {
				return fmt.Errorf("it shows %s", text)
			}
		}
		return nil
	})
	b.must(b.agent.Kill())
	b.must(b.world.Hub.Kill())
	b.must(b.world.Hub.Start(ctx))
	b.must(b.agent.Start())
	b.must(workload.PolicyV1().PodDisruptionBudgets("default").Delete(ctx, "front", metav1.DeleteOptions{}))
	eventually.For(b, 2*time.Minute, "the pod is evicted", func() error {
		pod, err := workload.CoreV1().Pods("default").Get(ctx, "front", metav1.GetOptions{})
		if err == nil && pod.DeletionTimestamp == nil {
			err = fmt.Errorf("it is not")
		}
		return err
	})
	// The kubelet of the machine would end it.
	b.must(workload.CoreV1().Pods("default").Delete(ctx, "front", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	if text := axle("clusters", "machines", "replace", "edge", old, "--yes", "--timeout", "5m"); !strings.Contains(text, "Replaced") {
		b.Errorf("in the end it shows %s", text)
	}
	names, after := b.machines()
	if len(names) != 2 || slices.Contains(names, old) || after[stays] != before[stays] {
		b.Errorf("of the machines %v there are %v", before, after)
	}
}
