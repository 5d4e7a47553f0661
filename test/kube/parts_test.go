package kube_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

const limit = 90 * time.Second

func TestKwokPlaysOrdinaryPods(t *testing.T) {
	cluster := kube.New(t, kube.ClusterConfig{Controllers: true, Kwok: true})
	api := client(t, cluster.Config())
	namespace := cluster.Namespace(t)

	t.Run("a Deployment becomes available", func(t *testing.T) {
		createDeployment(t, api, namespace, "web", corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1"}}})
		eventually.For(t, limit, "available replicas", func() error {
			d, err := api.AppsV1().Deployments(namespace).Get(t.Context(), "web", metav1.GetOptions{})
			if err == nil && d.Status.AvailableReplicas != 1 {
				err = fmt.Errorf("status %+v", d.Status)
			}
			return err
		})
	})
	t.Run("a Job completes", func(t *testing.T) {
		job := &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: "once"},
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "once", Image: "busybox"}},
			}}},
		}
		if _, err := api.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually.For(t, limit, "the Job's end", func() error {
			j, err := api.BatchV1().Jobs(namespace).Get(t.Context(), "once", metav1.GetOptions{})
			if err == nil && j.Status.Succeeded != 1 {
				err = fmt.Errorf("status %+v", j.Status)
			}
			return err
		})
	})
	t.Run("a pod that no node suits says why", func(t *testing.T) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "picky"},
			Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"disk": "gold"},
				Containers:   []corev1.Container{{Name: "picky", Image: "nginx:1"}},
			},
		}
		if _, err := api.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually.For(t, limit, "the reason", func() error {
			p, err := api.CoreV1().Pods(namespace).Get(t.Context(), "picky", metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, c := range p.Status.Conditions {
				if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
					return nil
				}
			}
			return fmt.Errorf("conditions %+v", p.Status.Conditions)
		})
	})
	t.Run("the root CA is in every namespace", func(t *testing.T) {
		eventually.For(t, limit, "the ConfigMap", func() error {
			_, err := api.CoreV1().ConfigMaps(namespace).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
			return err
		})
	})
}

// TestClusterForOne has what takes an API server of its own: users, an address and a node.
func TestClusterForOne(t *testing.T) {
	cluster := kube.New(t, kube.ClusterConfig{
		Users: []kube.User{{Name: "tess", Token: "tess-token", Groups: []string{"readers", "others"}}}, Controllers: true, Address: "127.0.0.2", Node: "ours",
	})
	t.Run("users are who they are", func(t *testing.T) { usersAreWhoTheyAre(t, cluster) })
	t.Run("pods are placed on a caller's node", func(t *testing.T) { podsArePlacedOnTheNode(t, cluster) })
}

// podsArePlacedOnTheNode looks at a node that the caller runs: the real scheduler places
// pods there, and a claim gets a folder that the node can mount.
func podsArePlacedOnTheNode(t *testing.T, cluster *kube.Cluster) {
	t.Helper()
	if !strings.HasPrefix(cluster.URL(), "https://127.0.0.2:") {
		t.Errorf("it listens at %s", cluster.URL())
	}
	api, namespace := client(t, cluster.Config()), cluster.Namespace(t)
	plenty := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("10")}
	_, err := api.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "ours", Labels: map[string]string{corev1.LabelHostname: "ours"}},
		Status:     corev1.NodeStatus{Capacity: plenty, Allocatable: plenty, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	if _, err := api.CoreV1().PersistentVolumeClaims(namespace).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	createDeployment(t, api, namespace, "web", corev1.PodSpec{
		Containers: []corev1.Container{{Name: "web", Image: "nginx:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}},
		Volumes:    []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}},
	})
	eventually.For(t, limit, "the pod is placed", func() error {
		pods, err := api.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err == nil && (len(pods.Items) != 1 || pods.Items[0].Spec.NodeName != "ours") {
			err = fmt.Errorf("%d pods, %+v", len(pods.Items), pods.Items)
		}
		return err
	})
	volumes, err := api.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(volumes.Items) != 1 || volumes.Items[0].Spec.Local == nil {
		t.Fatalf("the volumes are %+v, %v", volumes.Items, err)
	}
	if _, err := os.Stat(volumes.Items[0].Spec.Local.Path); err != nil {
		t.Error(err)
	}
}

func createDeployment(t *testing.T, api kubernetes.Interface, namespace, name string, spec corev1.PodSpec) {
	t.Helper()
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}
	if _, err := api.AppsV1().Deployments(namespace).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
