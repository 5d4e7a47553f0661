package node

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// startBalancer gives each Service of type LoadBalancer an address of the node, in order,
// as the provider of a cloud does; kube-proxy leads it to the pods. It ends with Close.
func (n *Node) startBalancer() {
	n.background(func(ctx context.Context) {
		next, given := netip.MustParseAddr(Balancer), map[types.UID]netip.Addr{}
		give := func(obj any) {
			service := obj.(*corev1.Service)
			if service.Spec.Type != corev1.ServiceTypeLoadBalancer || len(service.Status.LoadBalancer.Ingress) > 0 {
				return
			}
			if _, ok := given[service.UID]; !ok {
				given[service.UID], next = next, next.Next()
			}
			if err := n.balance(ctx, service.DeepCopy(), given[service.UID].String()); err != nil && !apierrors.IsConflict(err) && ctx.Err() == nil {
				n.say("give the Service %s/%s an address: %v", service.Namespace, service.Name, err)
			}
		}
		// A Service that failed is seen again every second.
		_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: cache.NewListWatchFromClient(n.client.CoreV1().RESTClient(), "services", metav1.NamespaceAll, fields.Everything()),
			ObjectType:    &corev1.Service{}, ResyncPeriod: time.Second,
			Handler: cache.ResourceEventHandlerFuncs{AddFunc: give, UpdateFunc: func(_, obj any) { give(obj) }},
		})
		informer.RunWithContext(ctx)
	})
}

func (n *Node) balance(ctx context.Context, service *corev1.Service, address string) error {
	if err := addAddress(ctx, address); err != nil {
		return err
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	_, err := n.client.CoreV1().Services(service.Namespace).UpdateStatus(ctx, service, metav1.UpdateOptions{})
	return err
}
