package install_test

import (
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/test/kube"
)

const signinProxy = "../../deploy/charts/signin-proxy"

// renderedProxy renders the chart of the proxy; sets are further values.
func renderedProxy(t *testing.T, sets ...string) (string, error) {
	t.Helper()
	args := []string{"template", "wiki", signinProxy, "--namespace", "signin"}
	for _, set := range append([]string{"url=https://wiki.shop.example.com", "upstream=http://wiki.shop.svc:8080", "clientSecret=wiki-oidc", "cookieSecret=wiki-cookie"}, sets...) {
		args = append(args, "--set", set)
	}
	out, err := exec.CommandContext(t.Context(), helmProgram(t), args...).CombinedOutput()
	return string(out), err
}

// A real API server takes what the chart of the proxy gives, its pods under restricted Pod
// Security, by an Ingress and by a Gateway; what cannot work is refused by a name.
func TestSigninProxyIsTaken(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), helmProgram(t), "lint", "--strict", signinProxy, "--set", "url=https://a.test,upstream=http://b:80,clientSecret=c,cookieSecret=d").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	cluster := kube.Shared(t)
	client, err := kubernetes.NewForConfig(cluster.Config())
	must(t, err)
	applier, err := kubeapply.New(cluster.Config())
	must(t, err)
	_, err = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "signin", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	must(t, err)
	for name, c := range map[string]struct {
		sets []string
		kind string
	}{
		"a Service": {nil, "Service"},
		"Ingress":   {[]string{"ingress.enabled=true", "ingress.className=nginx", "ingress.tlsSecret=wiki-tls", "allowedGroups={shop-admins,shop-editors}", "openPaths={^/healthz$}"}, "Ingress"},
		"Gateway":   {[]string{"gateway.enabled=true", "gateway.name=web", "gateway.namespace=infra", "gateway.sectionName=https", "caConfigMap=hub-ca"}, "HTTPRoute"},
	} {
		text, err := renderedProxy(t, c.sets...)
		must(t, err)
		objects, err := kubeapply.Documents([]byte(text))
		must(t, err)
		kinds := []string{}
		for _, object := range objects {
			kinds = append(kinds, object.GetKind())
			if object.GetKind() == "HTTPRoute" {
				hosts, _, _ := unstructured.NestedStringSlice(object.Object, "spec", "hostnames")
				if len(hosts) != 1 || hosts[0] != "wiki.shop.example.com" {
					t.Errorf("%s: hostnames %v", name, hosts)
				}
				continue
			}
			if err := applier.Apply(t.Context(), object, "test"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			acceptsPods(t.Context(), t, client, object)
		}
		if got := strings.Join(kinds, " "); !strings.Contains(got, c.kind) || !strings.Contains(got, "Deployment") {
			t.Errorf("%s: the chart gave %s", name, got)
		}
	}
	for what, c := range map[string]struct{ set, want string }{
		"two ways in":              {"ingress.enabled=true,gateway.enabled=true,gateway.name=web", "enable one of the two"},
		"a gateway without a name": {"gateway.enabled=true", "name"},
		"a path in the URL":        {"url=https://wiki.shop.example.com/wiki", "url"},
		"no client":                {"clientSecret=", "clientSecret"},
		"a path that is no start":  {"openPaths={/admin}", "openPaths"},
		"a session of an hour":     {"refresh=1h", "refresh"},
		"what there is not":        {"replica=1", "replica"},
	} {
		if out, err := renderedProxy(t, c.set); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v %s", what, err, out)
		}
	}
}
