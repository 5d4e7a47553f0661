package readiness

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/removals"
)

// budgets looks for PodDisruptionBudgets that let no pod go, however healthy all are: a node
// under such a pod can never be drained.
func (a *asked) budgets(ctx context.Context, r *result) error {
	return paged(func(more string) (string, error) {
		page, err := a.client.PolicyV1().PodDisruptionBudgets("").List(ctx, metav1.ListOptions{Limit: pageSize, Continue: more})
		if err != nil {
			return "", errcode.New(errcode.Unavailable, "the agent cannot list PodDisruptionBudgets: %w", err)
		}
		for i := range page.Items {
			b := &page.Items[i]
			r.examined(1)
			why := stuck(b)
			if why == "" {
				continue
			}
			err := r.found(ctx, &agentv1.ReadinessFinding{
				ServiceId: a.ownerOf("policy", "PodDisruptionBudget", b.Namespace, b.Name), Group: "policy", Version: "v1", Kind: "PodDisruptionBudget", Namespace: b.Namespace, Name: b.Name, Message: why,
			}, "/apis/policy/v1/namespaces/"+b.Namespace+"/poddisruptionbudgets")
			if err != nil {
				return "", err
			}
		}
		return page.Continue, nil
	})
}

// stuck returns why a budget lets no pod go even when all are healthy, empty if it does. One
// that blocks only now, as pods are not healthy, does not count.
func stuck(b *policyv1.PodDisruptionBudget) string {
	seen := b.Status.ObservedGeneration >= b.Generation && b.Status.ObservedGeneration > 0
	if seen && b.Status.ExpectedPods == 0 {
		return ""
	}
	const advice = ": no node with such a pod can be drained; allow one disruption, or run one pod more"
	switch most, least := b.Spec.MaxUnavailable, b.Spec.MinAvailable; {
	case most != nil && none(*most):
		return "maxUnavailable is " + most.String() + advice
	case least != nil && *least == intstr.FromString("100%"):
		return "minAvailable is 100%" + advice
	case seen && b.Status.DesiredHealthy >= b.Status.ExpectedPods:
		return fmt.Sprintf("it wants %d of %d pods available%s", b.Status.DesiredHealthy, b.Status.ExpectedPods, advice)
	}
	return ""
}

func none(v intstr.IntOrString) bool { return v == intstr.FromInt32(0) || v == intstr.FromString("0%") }

// skew is how many minor versions a kubelet or a kube-proxy may be behind its API server, and
// earlySkew for those before wideSince.
const (
	skew      = 3
	earlySkew = 2
	wideSince = 25
)

// nodes looks for kubelets and kube-proxies that are too old for the target, or newer.
func (a *asked) nodes(ctx context.Context, r *result) error {
	err := paged(func(more string) (string, error) {
		page, err := a.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: pageSize, Continue: more})
		if err != nil {
			return "", errcode.New(errcode.Unavailable, "the agent cannot list nodes: %w", err)
		}
		for i := range page.Items {
			n := &page.Items[i]
			r.examined(1)
			why := a.apart("kubelet", n.Status.NodeInfo.KubeletVersion)
			if why == "" {
				continue
			}
			if err := r.found(ctx, &agentv1.ReadinessFinding{Version: "v1", Kind: "Node", Name: n.Name, Message: why}, "/api/v1/nodes"); err != nil {
				return "", err
			}
		}
		return page.Continue, nil
	})
	if err != nil {
		return err
	}
	return a.proxies(ctx, r)
}

// proxies looks at the DaemonSets that run kube-proxy, by the tags of their images. A cluster
// may have none.
func (a *asked) proxies(ctx context.Context, r *result) error {
	all, err := a.client.AppsV1().DaemonSets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: "k8s-app=kube-proxy", Limit: pageSize})
	if err != nil {
		return errcode.New(errcode.Unavailable, "the agent cannot list the DaemonSets of kube-proxy: %w", err)
	}
	for _, d := range all.Items {
		for _, c := range d.Spec.Template.Spec.Containers {
			why := a.apart("kube-proxy", tag(c))
			if !strings.Contains(c.Image, "kube-proxy") || why == "" {
				continue
			}
			err := r.found(ctx, &agentv1.ReadinessFinding{
				ServiceId: a.ownerOf("apps", "DaemonSet", d.Namespace, d.Name), Group: "apps", Version: "v1", Kind: "DaemonSet", Namespace: d.Namespace, Name: d.Name, Message: why,
			}, "/apis/apps/v1/namespaces/"+d.Namespace+"/daemonsets")
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// tag is that of a container's image, empty for one by digest only.
func tag(c corev1.Container) string {
	image, _, _ := strings.Cut(c.Image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return tag
}

// apart returns why a program of a node does not go with the target, empty if it does, or if
// its version cannot be read: then it is no build of Kubernetes.
func (a *asked) apart(program, have string) string {
	v, err := removals.Version(have)
	if err != nil {
		return ""
	}
	behind := uint(skew)
	if v.Minor() < wideSince {
		behind = earlySkew
	}
	switch to := a.to.Minor(); {
	case v.Minor() > to:
		return fmt.Sprintf("its %s is %s, newer than Kubernetes %s; it may never be newer than the API server", program, have, removals.Minor(to))
	case v.Minor()+behind < to:
		return fmt.Sprintf("its %s is %s, and may be at most %d minor versions behind Kubernetes %s; upgrade it to %s or later first", program, have, behind, removals.Minor(to), removals.Minor(to-skew))
	}
	return ""
}
