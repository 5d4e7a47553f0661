package supportbundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/mask"
)

// cluster is the namespace that the hub runs in.
type cluster struct {
	core      *typedv1.CoreV1Client
	discovery *discovery.DiscoveryClient
	namespace string
}

func newCluster(config *rest.Config, namespace string) (*cluster, error) {
	config = rest.CopyConfig(config)
	config.Timeout = callTimeout
	core, err := typedv1.NewForConfig(config)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "kubeconfig: %w", err)
	}
	apis, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "kubeconfig: %w", err)
	}
	return &cluster{core, apis, namespace}, nil
}

// maxPods bounds the pods whose logs are read.
const maxPods = 50

// ofCluster writes the pods of the hub's namespace, what happened there, and what they
// log and measure.
func (b *bundle) ofCluster(ctx context.Context) {
	c := b.cluster
	b.part(ctx, "cluster/version.json", func(context.Context) ([]byte, error) { return marshal(c.discovery.ServerVersion()) })
	b.part(ctx, "cluster/nodes.json", func(ctx context.Context) ([]byte, error) {
		list, err := c.core.Nodes().List(ctx, metav1.ListOptions{Limit: 500})
		return marshal(bare(list, err))
	})
	b.part(ctx, "cluster/events.json", func(ctx context.Context) ([]byte, error) {
		return marshal(c.core.Events(c.namespace).List(ctx, metav1.ListOptions{Limit: 1000}))
	})
	b.part(ctx, "cluster/volumes.json", func(ctx context.Context) ([]byte, error) {
		return marshal(c.core.PersistentVolumeClaims(c.namespace).List(ctx, metav1.ListOptions{Limit: 500}))
	})
	var pods *corev1.PodList
	b.part(ctx, "cluster/pods.json", func(ctx context.Context) (_ []byte, err error) {
		if pods, err = c.core.Pods(c.namespace).List(ctx, metav1.ListOptions{Limit: maxPods}); err != nil {
			return nil, err
		}
		for i := range pods.Items {
			pods.Items[i].ManagedFields, pods.Items[i].Annotations = nil, nil
			hideIn(&pods.Items[i].Spec)
		}
		return marshal(pods, nil)
	})
	if pods == nil {
		return
	}
	for _, pod := range pods.Items {
		b.ofPod(ctx, pod)
	}
}

// bare drops what of nodes nobody needs.
func bare(list *corev1.NodeList, err error) (*corev1.NodeList, error) {
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		list.Items[i].ManagedFields, list.Items[i].Annotations, list.Items[i].Status.Images = nil, nil, nil
	}
	return list, nil
}

func marshal[T any](v T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(v, "", " ")
	return scrubbed(text), err
}

// ofPod writes the logs of a pod, of its runs before too, and its metrics.
func (b *bundle) ofPod(ctx context.Context, pod corev1.Pod) {
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		at := "cluster/pods/" + pod.Name + "/" + container.Name
		restarted := slices.ContainsFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == container.Name && s.RestartCount > 0 })
		b.part(ctx, at+".log", func(ctx context.Context) ([]byte, error) { return b.cluster.log(ctx, pod.Name, container.Name, false) })
		if restarted {
			b.part(ctx, at+".previous.log", func(ctx context.Context) ([]byte, error) { return b.cluster.log(ctx, pod.Name, container.Name, true) })
		}
		for _, port := range container.Ports {
			if port.Name != "metrics" {
				continue
			}
			b.part(ctx, at+".metrics.txt", func(ctx context.Context) ([]byte, error) {
				return b.cluster.core.RESTClient().Get().Namespace(pod.Namespace).Resource("pods").
					Name(fmt.Sprintf("%s:%d", pod.Name, port.ContainerPort)).SubResource("proxy").Suffix("metrics").DoRaw(ctx)
			})
		}
	}
}

func (c *cluster) log(ctx context.Context, pod, container string, previous bool) (_ []byte, err error) {
	limit := int64(maxLog)
	body, err := c.core.Pods(c.namespace).GetLogs(pod, &corev1.PodLogOptions{
		Container: container, Previous: previous, Timestamps: true, LimitBytes: &limit, TailLines: new(int64(20_000)),
	}).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	text, err := io.ReadAll(io.LimitReader(body, maxLog))
	return scrubbed(text), err
}

// scrubbed removes what is secret by its form: tokens, keys, credentials in URLs. A hub
// logs none of them; programs beside it might.
func scrubbed(text []byte) []byte {
	return []byte((&mask.Masker{}).Clean(string(text)))
}
