package provider

import (
	"context"
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// sizes are the processors and the memory of the types of machines.
var sizes = map[string]corev1.ResourceList{
	"small": size("2", "4Gi"),
	"large": size("8", "32Gi"),
}

func size(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourcePods: resource.MustParse("110"),
	}
}

// machine is a Node from when the control plane runs and the machine has its data. One that
// was made is not made again: like a machine that was lost, it is for the core to replace.
// The core removes the Node after the machine.
func (p *Provider) machine(ctx context.Context, key types.NamespacedName, o *unstructured.Unstructured) (fields, error) {
	cluster, owner := p.Cluster(key.Namespace, key.Name), p.owner(o, key)
	made, _, err := unstructured.NestedBool(o.Object, "status", "initialization", "provisioned")
	if err != nil || made || o.GetDeletionTimestamp() != nil || cluster == nil || owner == nil {
		return fields{}, err
	}
	data, _, err := unstructured.NestedString(owner.Object, "spec", "bootstrap", "dataSecretName")
	if err != nil || data == "" {
		return fields{}, err
	}
	node, err := p.node(o, owner, key)
	if err != nil {
		return fields{}, err
	}
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		return fields{}, err
	}
	if p.strands(o.GetUID()) {
		// It runs at the provider, and its kubelet never finds the control plane.
	} else if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fields{}, err
	}
	return fields{
		spec: map[string]any{"providerID": node.Spec.ProviderID},
		status: map[string]any{
			"initialization": map[string]any{"provisioned": true},
			"addresses":      []any{map[string]any{"type": "Hostname", "address": o.GetName()}},
		},
	}, nil
}

// owner is the core's object of a machine.
func (p *Provider) owner(o *unstructured.Unstructured, key types.NamespacedName) *unstructured.Unstructured {
	for _, ref := range o.GetOwnerReferences() {
		for _, m := range p.objects(machine, key) {
			if m.GetUID() == ref.UID {
				return m
			}
		}
	}
	return nil
}

// node is what the core calls healthy: ready, and under no pressure.
func (p *Provider) node(o, owner *unstructured.Unstructured, key types.NamespacedName) (*corev1.Node, error) {
	machineType, _, err := unstructured.NestedString(o.Object, "spec", "machineType")
	if err != nil {
		return nil, err
	}
	capacity, ok := sizes[machineType]
	if !ok {
		return nil, fmt.Errorf("there is no machineType %q: set small or large", machineType)
	}
	version, _, err := unstructured.NestedString(owner.Object, "spec", "version")
	if err != nil {
		return nil, err
	}
	labels := map[string]string{
		corev1.LabelHostname: o.GetName(), corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH, corev1.LabelInstanceTypeStable: machineType,
	}
	for _, c := range p.objects(bedCluster, key) {
		region, found, err := unstructured.NestedString(c.Object, "spec", "region")
		if err != nil {
			return nil, err
		}
		if found {
			labels[corev1.LabelTopologyRegion] = region
		}
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: o.GetName(), Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: fmt.Sprintf("bed://%s/%s/%s", key.Namespace, key.Name, o.GetName())},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity, Conditions: healthy(),
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: o.GetName()}},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: "linux", Architecture: runtime.GOARCH, KubeletVersion: version, ContainerRuntimeVersion: "bed://1",
			},
		},
	}, nil
}

func healthy() (all []corev1.NodeCondition) {
	now := metav1.Now()
	for condition, status := range map[corev1.NodeConditionType]corev1.ConditionStatus{
		corev1.NodeReady: corev1.ConditionTrue, corev1.NodeMemoryPressure: corev1.ConditionFalse,
		corev1.NodeDiskPressure: corev1.ConditionFalse, corev1.NodePIDPressure: corev1.ConditionFalse,
	} {
		all = append(all, corev1.NodeCondition{
			Type: condition, Status: status, Reason: "Bed", Message: "a machine of the test bed",
			LastHeartbeatTime: now, LastTransitionTime: now,
		})
	}
	return all
}
