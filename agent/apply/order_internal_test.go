package apply

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/agent/tenancy"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/kubeobj"
)

func testKinds() *kinds {
	k := &kinds{clock: clock.Real{}, disco: func() ([]kubeobj.Kind, error) { return nil, nil }, known: map[schema.GroupVersionKind]kubeobj.Kind{}}
	for _, line := range []string{
		"|v1|ConfigMap|configmaps|n", "|v1|Service|services|n", "|v1|Namespace|namespaces|", "|v1|Pod|pods|n", "apps|v1|Deployment|deployments|n",
		"batch|v1|Job|jobs|n", "storage.k8s.io|v1|StorageClass|storageclasses|", "rbac.authorization.k8s.io|v1|ClusterRole|clusterroles|",
		"apiextensions.k8s.io|v1|CustomResourceDefinition|customresourcedefinitions|",
	} {
		p := strings.Split(line, "|")
		k.learn(kubeobj.Kind{Group: p[0], Version: p[1], Kind: p[2], Resource: p[3], Namespaced: p[4] != ""})
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
	p := planner{kinds: testKinds(), cluster: "c", service: Service{ID: "s", Namespace: "ns"}, permit: permit}
	plan, err := p.plan(context.Background(), parse(t,
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
	if err != nil || len(plan.problems) > 0 {
		t.Fatal(err, plan.problems)
	}
	var got []string
	for _, group := range plan.groups() {
		var names []string
		for _, it := range group {
			names = append(names, it.ref.Name)
		}
		slices.Sort(names)
		got = append(got, strings.Join(names, " "))
	}
	want := []string{"ns", "crd", "class", "before-early", "before-late", "argo-first", "role", "cm", "web", "svc", "ours-wins", "after"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestGuardDecidesByAnnotations(t *testing.T) {
	ours := kubeobj.Live{Service: "s", Tracked: true}
	for name, test := range map[string]struct {
		change func(*kubeobj.Live)
		absent bool
		want   decision
	}{
		"ours":                  {want: decisionDelete},
		"gone":                  {absent: true, want: decisionGone},
		"of another service":    {change: func(l *kubeobj.Live) { l.Service = "t" }, want: decisionForget},
		"copied annotations":    {change: func(l *kubeobj.Live) { l.Tracked = false }, want: decisionForget},
		"no annotations":        {change: func(l *kubeobj.Live) { *l = kubeobj.Live{Cluster: "c"} }, want: decisionForget},
		"of another tool's set": {change: func(l *kubeobj.Live) { l.ApplySet = "x" }, want: decisionForget},
		"being deleted":         {change: func(l *kubeobj.Live) { l.Deleting = true }, want: decisionWait},
	} {
		t.Run(name, func(t *testing.T) {
			live := ours
			if test.change != nil {
				test.change(&live)
			}
			if got := guard("s", live, !test.absent); got != test.want {
				t.Errorf("decision %d, want %d", got, test.want)
			}
		})
	}
}

func TestKindsThatAreNeverPruned(t *testing.T) {
	crd := entry{kind: kubeobj.Kind{Group: crdKind.Group, Version: "v1", Kind: crdKind.Kind, Resource: "customresourcedefinitions"},
		ref: kubeobj.Ref{Group: crdKind.Group, Kind: crdKind.Kind, Name: "foos.example.org"}}
	i := &inventory{entries: map[kubeobj.Ref]entry{crd.ref: crd}}
	for name, test := range map[string]struct {
		entry entry
		want  bool
	}{
		"ConfigMap":                {entry{kind: kubeobj.Kind{Kind: "ConfigMap", Resource: "configmaps"}}, true},
		"ConfigMap that says no":   {entry{kind: kubeobj.Kind{Kind: "ConfigMap"}, prune: pruneNever}, false},
		"Namespace":                {entry{kind: kubeobj.Kind{Kind: "Namespace"}}, false},
		"Namespace that says yes":  {entry{kind: kubeobj.Kind{Kind: "Namespace"}, prune: pruneAlways}, true},
		"claim":                    {entry{kind: kubeobj.Kind{Kind: "PersistentVolumeClaim"}}, false},
		"storage class":            {entry{kind: kubeobj.Kind{Group: "storage.k8s.io", Kind: "StorageClass"}}, false},
		"definition":               {crd, false},
		"object of its definition": {entry{kind: kubeobj.Kind{Group: "example.org", Kind: "Foo", Resource: "foos"}}, false},
		"object of another one":    {entry{kind: kubeobj.Kind{Group: "example.org", Kind: "Bar", Resource: "bars"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := prunable(i, test.entry); got != test.want {
				t.Errorf("prunable %v, want %v", got, test.want)
			}
		})
	}
}
