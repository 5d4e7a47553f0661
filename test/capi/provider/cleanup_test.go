package provider_test

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/internal/eventually"
)

// held is what a workload cluster holds at a provider, and what it does not.
type held struct {
	*bed
	workload kubernetes.Interface
}

// finalizer is that of a load balancer whose provider does not answer.
const finalizer = "service.kubernetes.io/load-balancer-cleanup"

func (h held) service(name string, of corev1.ServiceType) error {
	o := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Type: of, Ports: []corev1.ServicePort{{Port: 80}}}}
	if of == corev1.ServiceTypeLoadBalancer {
		o.Finalizers = []string{finalizer}
	}
	_, err := h.workload.CoreV1().Services("default").Create(h.Context(), o, metav1.CreateOptions{})
	return err
}

// volume makes a bound volume with a claim.
func (h held) volume(name string, policy corev1.PersistentVolumeReclaimPolicy) {
	h.Helper()
	ctx, class, size := h.Context(), "", corev1.ResourceList{corev1.ResourceStorage: apiresource.MustParse("1Gi")}
	_, err := h.workload.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, PersistentVolumeReclaimPolicy: policy,
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.example.test", VolumeHandle: name}},
		ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: name},
	}}, metav1.CreateOptions{})
	h.must(err)
	_, err = h.workload.CoreV1().PersistentVolumeClaims("default").Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, VolumeName: name, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: size},
	}}, metav1.CreateOptions{})
	h.must(err)
	eventually.For(h, time.Minute, "the claim is bound", func() error {
		claim, err := h.workload.CoreV1().PersistentVolumeClaims("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && claim.Status.Phase != corev1.ClaimBound {
			err = fmt.Errorf("it is %s", claim.Status.Phase)
		}
		return err
	})
}

// fill makes one of each.
func (h held) fill() {
	h.Helper()
	h.must(h.service("front", corev1.ServiceTypeLoadBalancer))
	h.must(h.service("inside", corev1.ServiceTypeClusterIP))
	_, err := h.workload.NetworkingV1().Ingresses("default").Create(h.Context(), &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "front"},
		Spec:       networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "inside", Port: networkingv1.ServiceBackendPort{Number: 80}}}},
	}, metav1.CreateOptions{})
	h.must(err)
	h.volume("scratch", corev1.PersistentVolumeReclaimDelete)
	h.volume("archive", corev1.PersistentVolumeReclaimRetain)
}

// cleans destroys the cluster, and checks that each object is removed before the machines, that
// a wait is shown, and that it goes on where it was after an agent and the hub were killed.
func (h held) cleans(axle func(...string) string, kill func()) {
	h.Helper()
	ctx := h.Context()
	axle("clusters", "destroy", "edge", "--yes", "--timeout", "0")
	shows := func(want ...string) {
		h.Helper()
		eventually.For(h, 3*time.Minute, "the cluster shows what it waits for", func() error {
			text := axle("clusters", "get", "edge")
			for _, one := range want {
				if !strings.Contains(text, one) {
					return fmt.Errorf("it lacks %q: %s", one, text)
				}
			}
			return nil
		})
	}
	shows("Service default/front waits for "+finalizer, "PersistentVolume scratch ", "Destroying")
	kill()
	eventually.For(h, 2*time.Minute, "what goes at once", func() error {
		_, ingress := h.workload.NetworkingV1().Ingresses("default").Get(ctx, "front", metav1.GetOptions{})
		_, claim := h.workload.CoreV1().PersistentVolumeClaims("default").Get(ctx, "scratch", metav1.GetOptions{})
		if !apierrors.IsNotFound(ingress) || !apierrors.IsNotFound(claim) {
			return fmt.Errorf("the Ingress: %v, the claim: %v", ingress, claim)
		}
		return nil
	})
	if err := h.service("another", corev1.ServiceTypeLoadBalancer); err == nil || !strings.Contains(err.Error(), "is being destroyed") {
		h.Errorf("a new load balancer: %v", err)
	}
	h.must(h.service("another", corev1.ServiceTypeClusterIP))
	for name, err := range map[string]error{
		"the Service inside the cluster": get(h.workload.CoreV1().Services("default").Get(ctx, "inside", metav1.GetOptions{})),
		"the claim that is retained":     get(h.workload.CoreV1().PersistentVolumeClaims("default").Get(ctx, "archive", metav1.GetOptions{})),
		"the volume that is retained":    get(h.workload.CoreV1().PersistentVolumes().Get(ctx, "archive", metav1.GetOptions{})),
		"the Cluster":                    get(h.client.Resource(clusters).Namespace(h.namespace).Get(ctx, h.name, metav1.GetOptions{})),
	} {
		if err != nil {
			h.Errorf("%s: %v", name, err)
		}
	}
	cluster, err := h.client.Resource(clusters).Namespace(h.namespace).Get(ctx, h.name, metav1.GetOptions{})
	if err != nil || cluster.GetDeletionTimestamp() != nil {
		h.Errorf("the machines go before the load balancer: %v", err)
	}
	// The provider's controllers finish.
	h.must(h.workload.CoreV1().PersistentVolumes().Delete(ctx, "scratch", metav1.DeleteOptions{}))
	eventually.For(h, time.Minute, "the load balancer goes", func() error {
		_, err := h.workload.CoreV1().Services("default").Patch(ctx, "front", "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// get is the error of reading an object.
func get[T any](_ T, err error) error { return err }
