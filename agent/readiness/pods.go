package readiness

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/kubepage"
	"github.com/axle-cd/axle/internal/plain"
	"github.com/axle-cd/axle/internal/removals"
)

// maxBudgets is how many budgets of a namespace are compared with each other, and maxSelector how
// long the selector of one is.
const (
	maxBudgets  = 500
	maxSelector = 16 << 10
)

// budget is what is kept of a PodDisruptionBudget while the others of its namespace are read.
type budget struct {
	namespace, name string
	// why it is never met, empty if it may be.
	why      string
	selector labels.Selector
}

// budgets looks for PodDisruptionBudgets that let no pod go, however healthy all are: a node
// under such a pod can never be drained.
func (a *asked) budgets(ctx context.Context, r *result) error {
	var of []budget // of one namespace: an API server lists by namespaces
	var stopped error
	// Whoever may write one in a namespace writes large ones: they come object by object.
	_, err := kubepage.Objects(ctx, a.client.PolicyV1().RESTClient(), policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), "", metav1.ListOptions{Limit: pageSize}, func(object *unstructured.Unstructured) error {
		r.examined(1)
		if len(of) > 0 && of[0].namespace != object.GetNamespace() {
			if stopped = a.budgetsOf(ctx, r, of); stopped != nil {
				return stopped
			}
			of = nil
		}
		one, short := budgetOf(object)
		if !short || len(of) >= maxBudgets {
			one.selector = labels.Nothing()
			r.incomplete("not all PodDisruptionBudgets were compared with the others of their namespace: there are too many of them, or a selector is too long")
		}
		of = append(of, one)
		return nil
	}, func(error) error {
		// The error has its name, which the caller may not be allowed to list.
		r.examined(1)
		r.incomplete("a PodDisruptionBudget was left out: it is larger in memory than is allowed")
		return nil
	})
	if stopped != nil {
		return stopped
	}
	if err != nil {
		return errcode.New(errcode.Unavailable, "the agent cannot list PodDisruptionBudgets: %w", err)
	}
	return a.budgetsOf(ctx, r, of)
}

// budgetOf reads a budget, and reports whether its selector is short enough to be compared.
func budgetOf(object *unstructured.Unstructured) (one budget, short bool) {
	one = budget{namespace: object.GetNamespace(), name: object.GetName(), selector: labels.Nothing()}
	var b policyv1.PodDisruptionBudget
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &b) != nil {
		return one, false
	}
	one.why = stuck(&b)
	if b.Spec.Selector.Size() > maxSelector {
		return one, false
	}
	if selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err == nil { // else the API server matches nothing either
		one.selector = selector
	}
	return one, true
}

// budgetsOf adds the findings about the budgets of one namespace.
func (a *asked) budgetsOf(ctx context.Context, r *result, of []budget) error {
	if a.podsUnread == nil {
		if a.podsUnread = a.shared(ctx, of); a.podsUnread != nil {
			r.incomplete(errcode.Text(a.podsUnread))
		}
	}
	for _, b := range of {
		if b.why == "" {
			continue
		}
		err := r.found(ctx, &agentv1.ReadinessFinding{
			ServiceId: a.ownerOf("policy", "PodDisruptionBudget", b.namespace, b.name), Group: "policy", Version: "v1", Kind: "PodDisruptionBudget", Namespace: b.namespace, Name: b.name, Message: b.why,
		}, "/apis/policy/v1/namespaces/"+b.namespace+"/poddisruptionbudgets")
		if err != nil {
			return err
		}
	}
	return nil
}

// shared marks the budgets that have a pod with others: the API server evicts no pod that has more
// than one.
func (a *asked) shared(ctx context.Context, of []budget) error {
	if len(of) < 2 {
		return nil
	}
	// A pod that does not run yet, or not any more, is evicted whatever its budgets are.
	running := metav1.ListOptions{FieldSelector: "status.phase=" + string(corev1.PodRunning)}
	err := a.each(ctx, corev1.SchemeGroupVersion.WithResource("pods"), of[0].namespace, running, func(p *metav1.PartialObjectMetadata) {
		if drained(p) {
			share(of, p.Labels)
		}
	})
	if err != nil {
		return errcode.New(errcode.Unavailable, "the agent cannot list pods: %w", err)
	}
	return nil
}

// drained reports whether a drain evicts a pod: not one that its node or a DaemonSet brings back,
// and not one that goes already.
func drained(p *metav1.PartialObjectMetadata) bool {
	by := metav1.GetControllerOf(p)
	return p.DeletionTimestamp == nil && p.Annotations[corev1.MirrorPodAnnotationKey] == "" && (by == nil || by.Kind != "DaemonSet")
}

// share marks the budgets that select a pod, if there are several.
func share(of []budget, pod labels.Set) {
	var all []int
	for i := range of {
		if of[i].selector.Matches(pod) {
			all = append(all, i)
		}
	}
	for _, i := range all {
		if len(all) > 1 && of[i].why == "" {
			of[i].why = "another budget selects a pod of it too: Kubernetes evicts no pod that has more than one; let one of them select it"
		}
	}
}

// stuck returns why a budget lets no pod go even when all are healthy, empty if it does. One
// that blocks only now, as pods are not healthy, does not count.
func stuck(b *policyv1.PodDisruptionBudget) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition); c != nil && c.Status == metav1.ConditionFalse && c.Reason == policyv1.SyncFailedReason {
		return "Kubernetes cannot count its pods (" + plain.Line(c.Message, maxChartText) + "), and evicts none until it can: give it a minAvailable that is a number, or a selector of pods whose controllers can be scaled"
	}
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
// earlySkew for those before wideSince. kubeProxy is the name of its image.
const (
	skew      = 3
	earlySkew = 2
	wideSince = 25

	kubeProxy = "kube-proxy"
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

// proxies looks at the DaemonSets that run kube-proxy, by their images: those who build Kubernetes
// label them differently. A cluster may have none.
func (a *asked) proxies(ctx context.Context, r *result) error {
	return paged(func(more string) (string, error) {
		page, err := a.client.AppsV1().DaemonSets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{Limit: pageSize, Continue: more})
		if err != nil {
			return "", errcode.New(errcode.Unavailable, "the agent cannot list the DaemonSets of kube-proxy: %w", err)
		}
		for i := range page.Items {
			d := &page.Items[i]
			why := a.proxy(d)
			if why == "" {
				continue
			}
			err := r.found(ctx, &agentv1.ReadinessFinding{
				ServiceId: a.ownerOf("apps", "DaemonSet", d.Namespace, d.Name), Group: "apps", Version: "v1", Kind: "DaemonSet", Namespace: d.Namespace, Name: d.Name, Message: why,
			}, "/apis/apps/v1/namespaces/"+d.Namespace+"/daemonsets")
			if err != nil {
				return "", err
			}
		}
		return page.Continue, nil
	})
}

// proxy returns why the kube-proxy of a DaemonSet does not go with the target, empty if it does, or
// if there is none.
func (a *asked) proxy(d *appsv1.DaemonSet) string {
	for _, c := range d.Spec.Template.Spec.Containers {
		name, tag := image(c)
		if name != kubeProxy && (d.Labels["k8s-app"] != kubeProxy || !strings.Contains(name, kubeProxy)) {
			continue
		}
		if why := a.apart(kubeProxy, tag); why != "" {
			return why
		}
	}
	return ""
}

// image is the name of a container's image, without its registry and folders, and its tag, which
// is empty for one by digest only.
func image(c corev1.Container) (name, tag string) {
	whole, _, _ := strings.Cut(c.Image, "@")
	name, tag, _ = strings.Cut(whole[strings.LastIndex(whole, "/")+1:], ":")
	return name, tag
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
		return fmt.Sprintf("its %s is %s, and may be at most %d minor versions behind Kubernetes %s; upgrade it to %s or later first", program, have, behind, removals.Minor(to), removals.Minor(max(to-skew, min(to-earlySkew, wideSince))))
	}
	return ""
}
