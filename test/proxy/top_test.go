package proxy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/internal/eventually"
)

// extension is an aggregated API server to which the cluster's own forwards its
// paths, as to a metrics server.
type extension struct {
	server *httptest.Server
	user   atomic.Value // whom it was last asked for
}

// aggregate serves an API group until the test ends.
func (b *bed) aggregate(t *testing.T, group, version string, answers map[string]any) *extension {
	t.Helper()
	e := &extension{}
	root := "/apis/" + group + "/" + version
	e.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[strings.TrimPrefix(r.URL.Path, root)]
		if !ok || !strings.HasPrefix(r.URL.Path, root) {
			http.NotFound(w, r)
			return
		}
		if r.URL.Path != root {
			e.user.Store(r.Header.Get("X-Remote-User"))
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(e.server.Close)
	u, err := url.Parse(e.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	namespace := b.kube.Namespace(t)
	_, err = b.direct().CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "extension"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const services = "/apis/apiregistration.k8s.io/v1/apiservices"
	name := version + "." + group
	object := fmt.Sprintf(`{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":%q},"spec":{"group":%q,"version":%q,
		"groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,"service":{"name":"extension","namespace":%q,"port":%s}}}`,
		name, group, version, namespace, u.Port())
	api := b.direct().Discovery().RESTClient()
	if err := api.Post().AbsPath(services).Body([]byte(object)).SetHeader("Content-Type", "application/json").Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Before its server stops: otherwise others' discovery would meet an
		// unavailable one.
		if err := api.Delete().AbsPath(services, name).Do(contextOf(t)).Error(); err != nil {
			t.Error(err)
		}
	})
	eventually.For(t, limit, name+" is served", func() error { return api.Get().AbsPath(root).Do(t.Context()).Error() })
	return e
}

// TestKubectlTop asks for figures that another API server has, which the
// cluster's own asks in the caller's name.
func TestKubectlTop(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	namespace := b.kube.Namespace(t)
	nodes, err := b.direct().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) == 0 {
		t.Fatalf("%v nodes, %v", nodes, err)
	}
	const version = "metrics.k8s.io/v1beta1"
	usage := map[string]string{"cpu": "250m", "memory": "64Mi"}
	list := func(kind string, items ...any) map[string]any {
		return map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{}, "items": items}
	}
	resource := func(name, kind string, namespaced bool) map[string]any {
		return map[string]any{"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": []string{"get", "list"}}
	}
	pods := list("PodMetricsList", map[string]any{
		"metadata": map[string]string{"name": "busy", "namespace": namespace}, "timestamp": "2026-01-01T00:00:00Z", "window": "30s",
		"containers": []any{map[string]any{"name": "main", "usage": usage}},
	})
	e := b.aggregate(t, "metrics.k8s.io", "v1beta1", map[string]any{
		"": map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": []any{resource("pods", "PodMetrics", true), resource("nodes", "NodeMetrics", false)}},
		"/nodes": list("NodeMetricsList", map[string]any{
			"metadata": map[string]string{"name": nodes.Items[0].Name}, "timestamp": "2026-01-01T00:00:00Z", "window": "30s", "usage": usage,
		}),
		"/namespaces/" + namespace + "/pods": pods,
	})
	config := b.kubeconfig(adminToken)
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"pods":  {[]string{"top", "pods", "-n", namespace}, "busy"},
		"nodes": {[]string{"top", "nodes"}, nodes.Items[0].Name},
	} {
		direct, err := b.kubectl(b.kube.Kubeconfig(), test.args...).CombinedOutput()
		if err != nil || !strings.Contains(string(direct), test.says) || !strings.Contains(string(direct), "250m") {
			t.Fatalf("%s, directly: %v\n%s", name, err, direct)
		}
		through, err := b.kubectl(config, test.args...).CombinedOutput()
		if err != nil || string(through) != string(direct) {
			t.Errorf("%s: %v\n%s\ndirectly:\n%s", name, err, through, direct)
		}
		if who := e.user.Load(); who != "admin@example.com" {
			t.Errorf("%s was asked for in the name of %v", name, who)
		}
	}
}
