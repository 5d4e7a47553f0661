package kubelet

import (
	"context"
	"fmt"
	"net"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// register creates the node. Its taint keeps DaemonSets with ordinary images away.
func (k *Kubelet) register(ctx context.Context) error {
	now := metav1.Now()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: k.cfg.Node, Labels: map[string]string{
			corev1.LabelHostname: k.cfg.Node, corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH,
		}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "axle.test/process", Value: "true", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Capacity: capacity(), Allocatable: capacity(),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: hostIP},
				{Type: corev1.NodeHostName, Address: k.cfg.Node},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{
				KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(k.listener.Addr().(*net.TCPAddr).Port)},
			},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: "linux", Architecture: runtime.GOARCH,
				KubeletVersion: "v1.36.3-process", ContainerRuntimeVersion: "process://1",
			},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				Message: "pods run as processes", LastHeartbeatTime: now, LastTransitionTime: now,
			}},
		},
	}
	if _, err := k.cfg.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("register node %s: %w", k.cfg.Node, err)
	}
	return nil
}

// capacity is the capacity that the node reports.
func capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("16Gi"),
		corev1.ResourcePods:   resource.MustParse("1000"),
	}
}

// hostIP is the address of every node here.
const hostIP = "127.0.0.1"
