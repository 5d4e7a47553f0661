package kube

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// ImagePrefix marks the images that the process kubelet runs.
const ImagePrefix = "axle.test/"

// ProcessNode is the node of the process kubelet.
const ProcessNode = "process"

// binder replaces the scheduler: it binds each pod by its images, so that exactly one
// of kwok and the process kubelet runs it. A pod without a suitable node stays
// Pending with a reason, as under the real scheduler.
type binder struct {
	client    kubernetes.Interface
	log       *slog.Logger
	kwok      bool
	processes bool
	images    string // of the process kubelet
}

// run binds pods until the context ends. A pod that could not be bound is seen
// again every second.
func (b *binder) run(ctx context.Context) {
	unbound := cache.NewListWatchFromClient(b.client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll,
		fields.OneTermEqualSelector("spec.nodeName", ""))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: unbound,
		ObjectType:    &corev1.Pod{},
		ResyncPeriod:  time.Second,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { b.bind(ctx, obj.(*corev1.Pod)) },
			UpdateFunc: func(_, obj any) { b.bind(ctx, obj.(*corev1.Pod)) },
		},
	})
	informer.RunWithContext(klog.NewContext(ctx, logr.FromSlogHandler(b.log.Handler())))
}

func (b *binder) bind(ctx context.Context, pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0 || pod.Spec.SchedulerName != corev1.DefaultSchedulerName {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	node, reason := b.choose(pod)
	if node == "" {
		b.refuse(ctx, pod, reason)
		return
	}
	err := b.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		b.log.Warn("bind pod", "namespace", pod.Namespace, "pod", pod.Name, "node", node, "err", err)
	}
}

// choose names the pod's node, or says why there is none.
func (b *binder) choose(pod *corev1.Pod) (node, reason string) {
	switch {
	case pinned(pod) != "":
		return pinned(pod), ""
	case b.ours(pod) && b.processes:
		node = ProcessNode
	case !b.ours(pod) && b.kwok:
		node = KwokNode
	default:
		return "", "no node plays pods with such images on this test cluster"
	}
	labels := map[string]string{corev1.LabelHostname: node, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
	for key, value := range pod.Spec.NodeSelector {
		if labels[key] != value {
			return "", fmt.Sprintf("0/1 nodes are available: no node has the label %s=%s", key, value)
		}
	}
	return node, ""
}

// ours says whether the process kubelet knows one of the pod's images.
func (b *binder) ours(pod *corev1.Pod) bool {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, c := range containers {
			if strings.HasPrefix(c.Image, cmp.Or(b.images, ImagePrefix)) {
				return true
			}
		}
	}
	return false
}

// pinned is the node for which a DaemonSet made the pod.
func pinned(pod *corev1.Pod) string {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

// refuse says on the pod why it stays Pending, once.
func (b *binder) refuse(ctx context.Context, pod *corev1.Pod, reason string) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Message == reason {
			return
		}
	}
	pod = pod.DeepCopy()
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now(),
		Reason: corev1.PodReasonUnschedulable, Message: reason,
	})
	if _, err := b.client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
		b.log.Warn("mark pod unschedulable", "namespace", pod.Namespace, "pod", pod.Name, "err", err)
	}
}
