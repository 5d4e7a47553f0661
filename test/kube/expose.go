package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/internal/eventually"
)

// Exposed is a server of this machine as a Service of a cluster.
type Exposed struct {
	Namespace, Name string
	Labels          map[string]string
	// Port is the Service's, named http.
	Port int32
	// Address is where the server listens, 127.0.0.1:<port>.
	Address string
}

// Expose makes a Service of a server that listens on this machine, so that the API server
// reaches it by services/proxy. The namespace is made if it is missing. A second call of the
// same name changes the address.
//
// The API server sends a request only to an endpoint that is the address of a pod, and
// takes no loopback address as an endpoint: a pod stands there for the server, which nothing
// runs, and the endpoints are written to etcd. So nothing on the machine is changed, and the
// server is reached from the machine alone.
func (c *Cluster) Expose(ctx context.Context, e Exposed) error {
	host, text, err := net.SplitHostPort(e.Address)
	if err != nil {
		return err
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return err
	}
	config := c.Config()
	config.WarningHandler = rest.NoWarnings{} // that Endpoints are deprecated
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	err = eventually.Wait(ctx, startLimit, func() error { return c.expose(ctx, client, e, host, int32(port)) })
	if err != nil {
		return fmt.Errorf("expose %s as service %s/%s: %w", e.Address, e.Namespace, e.Name, err)
	}
	return nil
}

func (c *Cluster) expose(ctx context.Context, client kubernetes.Interface, e Exposed, host string, port int32) error {
	meta := metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name, Labels: e.Labels}
	core := client.CoreV1()
	_, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err = core.Services(e.Namespace).Create(ctx, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "http", Port: e.Port}},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	// Until the namespace has its service account, a pod is refused.
	pod, err := core.Pods(e.Namespace).Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		SchedulerName: "none", AutomountServiceAccountToken: new(bool),
		Containers: []corev1.Container{{Name: "server", Image: "server"}},
	}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		pod, err = core.Pods(e.Namespace).Get(ctx, e.Name, metav1.GetOptions{})
	}
	if err != nil {
		return err
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: host, PodIPs: []corev1.PodIP{{IP: host}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	if _, err := core.Pods(e.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{}); err != nil {
		return err
	}
	return c.writeEndpoints(ctx, client, pod, host, port)
}

// writeEndpoints writes the endpoints of the Service of a pod's name, and waits until the API
// server has them.
func (c *Cluster) writeEndpoints(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, host string, port int32) error {
	endpoints := corev1.Endpoints{ //nolint:staticcheck // services/proxy reads no other kind
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Endpoints"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, CreationTimestamp: metav1.NewTime(time.Now()),
		},
		Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // as above
			Addresses: []corev1.EndpointAddress{{IP: host, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}}, //nolint:staticcheck // as above
			Ports:     []corev1.EndpointPort{{Name: "http", Port: port}},                                                                                             //nolint:staticcheck // as above
		}},
	}
	value, err := json.Marshal(endpoints)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("/%s/services/endpoints/%s/%s", c.id, pod.Namespace, pod.Name)
	if err := c.bed.etcdCall(ctx, "put", map[string]any{"key": []byte(key), "value": value}, &struct{}{}); err != nil {
		return err
	}
	seen, err := client.CoreV1().Endpoints(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(seen.Subsets) == 0 || seen.Subsets[0].Addresses[0].IP != host || seen.Subsets[0].Ports[0].Port != port {
		return errors.New("the API server has other endpoints")
	}
	return nil
}
