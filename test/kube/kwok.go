package kube

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// KwokNode is the node whose pods kwok plays.
const KwokNode = "kwok"

// startKwok registers kwok's node and starts kwok, which makes it ready.
func (c *Cluster) startKwok(ctx context.Context, client kubernetes.Interface) error {
	plenty := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1000"),
		corev1.ResourceMemory: resource.MustParse("1000Gi"),
		corev1.ResourcePods:   resource.MustParse("10000"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: KwokNode, Labels: map[string]string{
			"type": "kwok", corev1.LabelHostname: KwokNode, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Status: corev1.NodeStatus{Capacity: plenty, Allocatable: plenty},
	}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return err
	}
	kwok := filepath.Join(c.bed.bin, "kwok")
	stages, err := exec.CommandContext(ctx, kwok, "stages").Output()
	if err != nil {
		return fmt.Errorf("ask kwok for its stages: %w", err)
	}
	if err := os.WriteFile(c.path("kwok.yaml"), stages, 0o644); err != nil {
		return err
	}
	p, err := c.startPart("kwok", "--config="+c.path("kwok.yaml"), "--kubeconfig="+c.kubeconfigPath(kwokUser), "--manage-single-node="+KwokNode)
	if err != nil {
		return err
	}
	return p.WaitReady(ctx, func(ctx context.Context) error { return nodeReady(ctx, client, KwokNode) })
}

func nodeReady(ctx context.Context, client kubernetes.Interface, name string) error {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("node %s is not ready", name)
}
