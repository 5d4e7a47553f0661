package plan

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/apply/kubeclient"
	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/kubeobj"
)

func testKinds(t *testing.T) *kubeclient.Kinds {
	t.Helper()
	k, err := kubeclient.NewKinds(&rest.Config{Host: "http://127.0.0.1:1"}, clock.Real{})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"|v1|ConfigMap|configmaps|n", "|v1|Service|services|n", "|v1|Namespace|namespaces|", "|v1|Pod|pods|n", "apps|v1|Deployment|deployments|n",
		"batch|v1|Job|jobs|n", "storage.k8s.io|v1|StorageClass|storageclasses|", "rbac.authorization.k8s.io|v1|ClusterRole|clusterroles|",
		"apiextensions.k8s.io|v1|CustomResourceDefinition|customresourcedefinitions|",
	} {
		p := strings.Split(line, "|")
		k.Learn(kubeobj.Kind{Group: p[0], Version: p[1], Kind: p[2], Resource: p[3], Namespaced: p[4] != ""})
	}
	return k
}

func parse(t *testing.T, docs ...string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, doc := range docs {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	return all
}

func TestOrderOfApplication(t *testing.T) {
	doc := func(api, kind, name, annotations string) string {
		return "apiVersion: " + api + "\nkind: " + kind + "\nmetadata: {name: " + name + ", annotations: {" + annotations + "}}"
	}
	permit, err := tenancy.New(&rest.Config{}, "axle-system").Permit(tenancy.Request{Service: "s", Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	p := Planner{Kinds: testKinds(t), Cluster: "c", Service: Service{ID: "s", Namespace: "ns"}, Permit: permit}
	plan, err := p.Plan(context.Background(), parse(t,
		doc("v1", "Service", "svc", ""),
		doc("apps/v1", "Deployment", "web", ""),
		doc("v1", "ConfigMap", "cm", ""),
		doc("batch/v1", "Job", "after", "helm.sh/hook: post-install"),
		doc("batch/v1", "Job", "before-late", `helm.sh/hook: "pre-install,post-install", helm.sh/hook-weight: "5"`),
		doc("batch/v1", "Job", "before-early", `helm.sh/hook: pre-upgrade, helm.sh/hook-weight: "-5"`),
		doc("v1", "Pod", "test", "helm.sh/hook: test"),
		doc("v1", "ConfigMap", "argo-first", `argocd.argoproj.io/sync-wave: "-1"`),
		doc("v1", "ConfigMap", "ours-wins", `axle-cd.github.io/sync-wave: "9", argocd.argoproj.io/sync-wave: "-3"`),
		doc("rbac.authorization.k8s.io/v1", "ClusterRole", "role", ""),
		doc("storage.k8s.io/v1", "StorageClass", "class", ""),
		doc("apiextensions.k8s.io/v1", "CustomResourceDefinition", "crd", ""),
		doc("v1", "Namespace", "ns", `axle-cd.github.io/sync-wave: "50"`),
	))
	if err != nil || len(plan.Problems) > 0 {
		t.Fatal(err, plan.Problems)
	}
	var got []string
	for _, group := range plan.Groups() {
		var names []string
		for _, it := range group {
			names = append(names, it.Ref.Name)
		}
		slices.Sort(names)
		got = append(got, strings.Join(names, " "))
	}
	want := []string{"ns", "crd", "class", "before-early", "before-late", "argo-first", "role", "cm", "web", "svc", "ours-wins", "after"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The rules of an aggregated ClusterRole are the control plane's, whatever a chart renders: an
// apply that sends them takes the rights away until they are filled again.
func TestRulesOfAnAggregatedRoleAreNotSent(t *testing.T) {
	permit, err := tenancy.New(&rest.Config{}, "axle-system").Permit(tenancy.Request{Service: "s", Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	p := Planner{Kinds: testKinds(t), Cluster: "c", Service: Service{ID: "s", Namespace: "ns"}, Permit: permit}
	const role, rule = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n", "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n"
	for text, sent := range map[string]bool{
		role + "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\nrules: []\n":   false,
		role + "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\nrules: null\n": false,
		role + "aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}\n" + rule:       false,
		role + rule:          true,
		role + "rules: []\n": true,
	} {
		object := parse(t, text)[0]
		it, err := p.item(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		if _, has := p.body(object, it)["rules"]; has != sent {
			t.Errorf("the rules are sent: %v, want %v:\n%s", has, sent, text)
		}
	}
}
