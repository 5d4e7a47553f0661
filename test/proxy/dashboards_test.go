package proxy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/tunnel/authproxy"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/kube"
)

const dashboardOfTenant = `
apiVersion: platform.plural.sh/v1alpha1
kind: Dashboard
metadata: {name: web}
spec:
  name: Web shop
  timeslices: [1h]
  labels:
  - {name: pod, query: {query: container_memory_working_set_bytes, label: pod}}
  graphs:
  - name: Memory
    format: bytes
    queries: [{query: 'container_memory_working_set_bytes{pod="$pod"}', legendFormat: "$pod <script>"}]
  - name: Others
    queries: [{query: 'requests{namespace="THEIRS"} or requests', legend: requests}]
  - name: Broken
    queries: [{query: 'rate(requests[$pod])'}]
`

// drawDashboards is the whole way of a dashboard: an object in the cluster, read with the rights
// of who asks, and its queries limited like any other.
func drawDashboards(t *testing.T, w *whole, c *kube.Cluster, tenant *sdk.Client, mine, theirs string) {
	objects := bringDashboards(t, c)
	bring := func(namespace, text string) error {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		_, err := objects.Namespace(namespace).Create(t.Context(), &o, metav1.CreateOptions{})
		return err
	}
	if err := bring(mine, strings.ReplaceAll(dashboardOfTenant, "THEIRS", theirs)); err != nil {
		t.Fatal(err)
	}
	if err := bring(theirs, dashboardOfTenant); err != nil {
		t.Fatal(err)
	}
	graphs := strings.Repeat("  - {name: x, queries: [{query: up}]}\n", 200)
	if err := bring(mine, "apiVersion: platform.plural.sh/v1alpha1\nkind: Dashboard\nmetadata: {name: many}\nspec:\n  graphs:\n"+graphs); err == nil || !strings.Contains(err.Error(), "100") {
		t.Errorf("200 graphs: %v", err)
	}
	letReadDashboards(t, c, mine)

	read := func(namespace string) error {
		_, err := tenant.ClusterAPI.ListObjects(t.Context(), connect.NewRequest(&hubv1.ListClusterObjectsRequest{
			Objects: &hubv1.ClusterObjects{Cluster: "edge", Group: "platform.plural.sh", Version: "v1alpha1", Resource: "dashboards", Namespace: namespace}, Name: "web",
		}))
		return err
	}
	eventually.For(t, limit, "the right to read dashboards", func() error { return read(mine) })
	if err := read(theirs); err == nil {
		t.Error("a tenant reads the dashboard of another")
	}
	settings := &hubv1.DashboardSettings{
		Labels: []*hubv1.DashboardLabel{{Name: "pod", Query: &hubv1.DashboardLabelQuery{Query: "container_memory_working_set_bytes", Label: "pod"}}},
		Graphs: []*hubv1.DashboardGraph{
			{Name: "Memory", Format: "bytes", Queries: []*hubv1.DashboardQuery{{Query: `container_memory_working_set_bytes{pod="$pod"}`, LegendFormat: "$pod <script>"}}},
			{Name: "Others", Queries: []*hubv1.DashboardQuery{{Query: fmt.Sprintf("requests{namespace=%q} or requests", theirs), Legend: "requests"}}},
			{Name: "Broken", Queries: []*hubv1.DashboardQuery{{Query: "rate(requests[$pod])"}}},
		},
	}
	draw := func(client *sdk.Client, variables map[string]string) *hubv1.DrawDashboardResponse {
		t.Helper()
		r, err := client.Dashboards.Draw(t.Context(), connect.NewRequest(&hubv1.DrawDashboardRequest{Cluster: "edge", Dashboard: settings, Variables: variables}))
		if err != nil {
			t.Fatal(err)
		}
		return r.Msg
	}
	// A sample of this moment is behind the last step of a range for a while.
	eventually.For(t, limit, "the samples are in the range of a dashboard", func() error {
		drawn := draw(w.client, nil).GetGraphs()
		if memory, others := len(drawn[0].GetQueries()[0].GetSeries()), len(drawn[1].GetQueries()[0].GetSeries()); memory == 0 || others < 2 {
			return fmt.Errorf("%d and %d series", memory, others)
		}
		return nil
	})
	got := draw(tenant, nil)
	if v := got.GetVariables()[0]; v.GetValue() != "web-0" || !slices.Equal(v.GetValues(), []string{"web-0"}) {
		t.Errorf("%v", v)
	}
	memory, others, broken := got.GetGraphs()[0], got.GetGraphs()[1], got.GetGraphs()[2]
	if s := memory.GetQueries()[0].GetSeries(); len(s) != 1 || s[0].GetLegend() != "web-0 <script>" || len(s[0].GetTimes()) == 0 || memory.GetMessage() != "" {
		t.Errorf("%v", memory)
	}
	if s := others.GetQueries()[0].GetSeries(); len(s) != 1 || s[0].GetValues()[0] != 7 {
		t.Errorf("a tenant sees in a dashboard: %v", others)
	}
	if !strings.Contains(broken.GetMessage(), "1:15: $pod stands outside the value of a matcher") {
		t.Errorf("%v", broken)
	}
	if got.GetStepMicros() == 0 || got.GetEndMicros()-got.GetStartMicros() != 3_600_000_000 || got.GetNamespaces().GetAll() {
		t.Errorf("%v", got)
	}
	for _, hostile := range []string{`web-0"} or requests{namespace=~".+`, "web-0'} or up", `.*`, `web-0\`, "$pod", "a\nb"} {
		if g := draw(tenant, map[string]string{"pod": hostile}).GetGraphs()[0]; len(g.GetQueries()[0].GetSeries()) != 0 || g.GetMessage() != "" {
			t.Errorf("%q: %v", hostile, g)
		}
	}
	if n := len(draw(w.client, nil).GetGraphs()[1].GetQueries()[0].GetSeries()); n != 2 {
		t.Errorf("an administrator sees %d series of 2", n)
	}
	settings.Graphs = make([]*hubv1.DashboardGraph, 101)
	for i := range settings.GetGraphs() {
		settings.Graphs[i] = &hubv1.DashboardGraph{}
	}
	if _, err := tenant.Dashboards.Draw(t.Context(), connect.NewRequest(&hubv1.DrawDashboardRequest{Cluster: "edge", Dashboard: settings})); !errcode.Is(err, errcode.Invalid) {
		t.Errorf("101 graphs: %v", err)
	}

	out, errs, err := w.command(w.axle, "metrics", "dashboards", "edge")
	if err != nil || !strings.Contains(out, "Web shop") || strings.Count(out, "\n") < 3 {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
	out, errs, err = w.command(w.axle, "metrics", "dashboards", "edge", mine+"/web")
	if err != nil || !strings.Contains(out, "web-0 <script>") || !strings.Contains(out, "976.56 KiB") || !strings.Contains(out, "1:15: $pod stands outside") || !strings.Contains(errs, `$pod is "web-0"`) {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
	t.Logf("%s%s", out, errs)
	out, errs, err = w.command(w.axle, "metrics", "dashboards", "edge", mine+"/web", "--graph", "1", "--var", "pod=gone", "--since", "30m", "-o", "json")
	if err != nil || !strings.Contains(out, `"value": "gone"`) || !strings.Contains(out, `"lines": []`) || strings.Contains(out, "Others") {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
	out, errs, err = w.command(w.axle, "metrics", "dashboards", "edge", "web")
	if err == nil || !strings.Contains(errs, "several dashboards web") {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
	out, errs, err = w.command(w.axle, "metrics", "check", filepath.Join("..", "..", "examples", "kinds", "platform-dashboard.yaml"))
	if err != nil || !strings.Contains(out, "1 dashboards checked") {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
}

// bringDashboards gives the cluster the definition that the agent's manifests have.
func bringDashboards(t *testing.T, c *kube.Cluster) dynamic.NamespaceableResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../deploy/crds/platform.plural.sh_dashboards.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var definition unstructured.Unstructured
	if err := yaml.Unmarshal(text, &definition.Object); err != nil {
		t.Fatal(err)
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	must(t)(definitions.Create(t.Context(), &definition, metav1.CreateOptions{}))
	objects := client.Resource(schema.GroupVersionResource{Group: "platform.plural.sh", Version: "v1alpha1", Resource: "dashboards"})
	eventually.For(t, limit, "the definition of dashboards", func() error {
		_, err := objects.List(t.Context(), metav1.ListOptions{})
		return err
	})
	return objects
}

// letReadDashboards gives in a namespace what the agent's manifests give in all.
func letReadDashboards(t *testing.T, c *kube.Cluster, namespace string) {
	t.Helper()
	api, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	must(t)(api.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "dashboards"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"platform.plural.sh"}, Resources: []string{"dashboards"}, Verbs: []string{"get", "list", "watch"}}},
	}, metav1.CreateOptions{}))
	must(t)(api.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "dashboards"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "dashboards"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: authproxy.ReadGroup}},
	}, metav1.CreateOptions{}))
}
