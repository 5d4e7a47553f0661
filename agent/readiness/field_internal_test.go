package readiness

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/removals"
)

// These are reports about tools that ask what this package does; test/field/readiness has them all.

// asking is a question about a version, without a cluster.
func asking(t *testing.T, to string) *asked {
	t.Helper()
	v, err := removals.Version(to)
	if err != nil {
		t.Fatal(err)
	}
	return &asked{to: v}
}

func TestManifestsOfTheField(t *testing.T) {
	const ingress = "extensions/v1beta1 Ingress shop"
	for name, tc := range map[string]struct{ text, want, says string }{
		"the kind before the version":        {"kind: Ingress\nmetadata: {name: shop}\napiVersion: \"extensions/v1beta1\" # as it was\n", ingress, ""},
		"lines that end with CRLF":           {"---\r\n# Source: shop/web.yaml\r\napiVersion: extensions/v1beta1\r\nkind: Ingress\r\nmetadata:\r\n  name: shop\r\n", ingress + " shop/web.yaml", ""},
		"within a List":                      {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: extensions/v1beta1\n  kind: Ingress\n  metadata: {name: shop}\n", ingress, ""},
		"within a list of its kind":          {"apiVersion: extensions/v1beta1\nkind: IngressList\nitems:\n- apiVersion: extensions/v1beta1\n  kind: Ingress\n  metadata: {name: shop}\n", ingress, ""},
		"a key twice":                        {"apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata:\n  name: before\n  labels: {}\n  name: shop\n", ingress, ""},
		"JSON with escaped slashes":          {`{"apiVersion":"extensions\/v1beta1","kind":"Ingress","metadata":{"name":"shop"}}`, ingress, ""},
		"after a text that is no manifest":   {"---\napiVersion: extensions/v1beta1\n---\napiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: shop}\n", ingress, "no manifest"},
		"no replacement":                     {"apiVersion: policy/v1beta1\nkind: PodSecurityPolicy\nmetadata: {name: shop}\n", "policy/v1beta1 PodSecurityPolicy shop", ""},
		"only in the data of a ConfigMap":    {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: docs}\ndata: {a: \"apiVersion: extensions/v1beta1\"}\n", "", ""},
		"only in what was applied last":      {"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: shop\n  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"apiVersion\":\"extensions/v1beta1\"}'}\n", "", ""},
		"the same kind of another API group": {"apiVersion: extensions.example.com/v1beta1\nkind: Ingress\nmetadata: {name: shop}\n# not extensions/v1beta1\n", "", ""},
	} {
		a, got := asking(t, "1.37"), []string(nil)
		err := (release{Manifest: tc.text}).each(func(o *manifest.Object, file string) error {
			version, _ := o.Data["apiVersion"].(string)
			if f := a.removed(schema.FromAPIVersionAndKind(version, o.Key("").Kind), "", o.Key("").Name); f != nil {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s/%s %s %s %s", f.GetGroup(), f.GetVersion(), f.GetKind(), f.GetName(), file)))
			}
			return nil
		})
		if strings.Join(got, "; ") != tc.want || (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestRevisionsOfTheField(t *testing.T) {
	for name, tc := range map[string]struct {
		// states are those of the revisions 1, 2, …
		states string
		want   int
	}{
		"uninstalled with its history after an upgrade that failed": {"deployed uninstalled", 0},
		"uninstalled, and installed again":                          {"deployed uninstalled deployed", 3},
		"installed again, which failed":                             {"superseded uninstalled failed", 3},
		"two are deployed":                                          {"deployed deployed", 2},
		"interrupted between two revisions":                         {"superseded superseded", 2},
		"an upgrade failed":                                         {"superseded deployed failed pending-upgrade", 2},
		"the first install waits":                                   {"pending-install", 1},
		"is being uninstalled":                                      {"uninstalling", 0},
	} {
		states := strings.Fields(tc.states)
		for _, backwards := range []bool{false, true} { // an API server lists v10 before v9
			h := &history{}
			for i := range states {
				if backwards {
					i = len(states) - 1 - i
				}
				h.add(place{revision: i + 1, status: states[i]})
			}
			p, live := h.live()
			if live != (tc.want > 0) || live && p.revision != tc.want {
				t.Errorf("%s: revision %d, %v", name, p.revision, live)
			}
		}
	}
}

func TestBudgetsOfTheField(t *testing.T) {
	percent, one, all := intstr.FromString("25%"), intstr.FromInt32(1), intstr.FromString("90%")
	failed := []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, Message: "queues.example.com does not implement the scale subresource"}}
	few := []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason}}
	for name, tc := range map[string]struct {
		spec   policyv1.PodDisruptionBudgetSpec
		status policyv1.PodDisruptionBudgetStatus
		want   string
	}{
		"pods whose controller cannot be scaled": {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &percent}, policyv1.PodDisruptionBudgetStatus{Conditions: failed}, "does not implement the scale subresource"},
		"they were counted before":               {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one}, policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, Conditions: failed}, "a minAvailable that is a number"},
		"a percentage of few pods":               {policyv1.PodDisruptionBudgetSpec{MinAvailable: &all}, policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, ExpectedPods: 5, DesiredHealthy: 5}, "it wants 5 of 5"},
		"pods that are not healthy now":          {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one}, policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, ExpectedPods: 2, DesiredHealthy: 1, Conditions: few}, ""},
		"one pod, of which one may go":           {policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &percent}, policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, ExpectedPods: 1, DesiredHealthy: 0}, ""},
	} {
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: tc.spec, Status: tc.status}
		if got := stuck(b); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Kubernetes evicts no pod that two budgets select.
func TestBudgetsShareNoPod(t *testing.T) {
	selects := func(name, selector string) budget {
		s, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		return budget{name: name, selector: s}
	}
	of := []budget{selects("web", "app=web"), selects("all", "app"), selects("db", "app=db"), selects("queue", "tier=queue"), {name: "never", why: "maxUnavailable is 0", selector: labels.Everything()}}
	share(of, labels.Set{"tier": "none"})
	for _, b := range of[:4] {
		if b.why != "" {
			t.Errorf("%s: %s", b.name, b.why)
		}
	}
	share(of, labels.Set{"app": "web"})
	got := ""
	for _, b := range of {
		got += fmt.Sprintf("%s %t; ", b.name, strings.Contains(b.why, "another budget selects a pod of it too"))
	}
	if got != "web true; all true; db false; queue false; never false; " {
		t.Error(got)
	}
	yes, now := true, metav1.Now()
	by := func(kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: kind, Controller: &yes}}}
	}
	for name, tc := range map[string]struct {
		pod  metav1.ObjectMeta
		want bool
	}{
		"of a ReplicaSet": {by("ReplicaSet"), true}, "of nobody": {metav1.ObjectMeta{}, true}, "of a DaemonSet": {by("DaemonSet"), false},
		"of its node": {metav1.ObjectMeta{Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "1"}}, false}, "on its way out": {metav1.ObjectMeta{DeletionTimestamp: &now}, false},
	} {
		if got := drained(&metav1.PartialObjectMetadata{ObjectMeta: tc.pod}); got != tc.want {
			t.Errorf("a pod %s is drained: %v", name, got)
		}
	}
}

func TestProxiesOfTheField(t *testing.T) {
	for name, tc := range map[string]struct {
		labels map[string]string
		image  string
		old    bool
	}{
		"kubeadm":                          {map[string]string{"k8s-app": "kube-proxy"}, "registry.k8s.io/kube-proxy:v1.33.1", true},
		"EKS":                              {map[string]string{"k8s-app": "kube-proxy"}, "602401143452.dkr.ecr.eu-west-1.amazonaws.com/eks/kube-proxy:v1.33.3-minimal-eksbuild.3", true},
		"of an architecture":               {map[string]string{"k8s-app": "kube-proxy"}, "registry.k8s.io/kube-proxy-amd64:v1.33.1", true},
		"with another label":               {map[string]string{"component": "kube-proxy", "tier": "node"}, "mcr.example.com/oss/kubernetes/kube-proxy:v1.33.7", true},
		"one for each pool of nodes":       {map[string]string{"app": "kubernetes", "role": "proxy"}, "registry.k8s.io/kube-proxy:v1.33.7", true},
		"new enough":                       {map[string]string{"component": "kube-proxy"}, "registry.k8s.io/kube-proxy:v1.34.0", false},
		"another program of such a name":   {map[string]string{"app": "exporter"}, "registry.example.com/kube-proxy-exporter:v1.2.0", false},
		"another one that watches proxies": {map[string]string{"app": "kube-proxy"}, "registry.example.com/proxy-watch:v1.2.0", false},
	} {
		d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Labels: tc.labels}}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Image: "registry.example.com/sidecar:v0.1.0"}, {Image: tc.image}}
		if got := asking(t, "1.37").proxy(d); (got != "") != tc.old {
			t.Errorf("%s: %q", name, got)
		}
	}
	// From 1.25 on a kubelet may be three behind, and before it two.
	for to, want := range map[string]string{"1.26": "1.24", "1.27": "1.25", "1.28": "1.25", "1.37": "1.34"} {
		if got := asking(t, to).apart("kubelet", "v1.20.0"); !strings.Contains(got, "upgrade it to "+want+" or later first") {
			t.Errorf("to %s: %s", to, got)
		}
	}
}

// Charts that make labels of their versions write an underscore for the plus sign.
func TestVersionsInLabelsOfTheField(t *testing.T) {
	f := &foundAddon{app: "mesh", version: "v1.4.0_build.7"}
	if got := f.report().GetAppVersion(); got != "v1.4.0+build.7" {
		t.Error(got)
	}
}
