package proxy_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/axle-cd/axle/agent/agenttest"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/kube"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// whole is a real hub and a real agent before the package's API server, with
// the tunnel between them.
type whole struct {
	t      *testing.T
	hub    *hubtest.Hub
	client *sdk.Client
	axle   string
	ca     []byte
}

func newWhole(t *testing.T) *whole {
	t.Helper()
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	return newWholeOn(t, c)
}

// newWholeOn is newWhole before another API server.
func newWholeOn(t *testing.T, c *kube.Cluster) *whole {
	t.Helper()
	return newWholeOf(t, c, hubtest.HubConfig{})
}

// newWholeOf is newWholeOn with a hub of one's own.
func newWholeOf(t *testing.T, c *kube.Cluster, config hubtest.HubConfig) *whole {
	t.Helper()
	var err error
	config.DevCA, config.AllowHTTPUpstreams = true, true
	w := &whole{t: t, hub: hubtest.New(t, hubtest.Config{Hub: config})}
	if w.ca, err = os.ReadFile(w.hub.CAFile()); err != nil {
		t.Fatal(err)
	}
	if w.client, err = sdk.New(sdk.Config{URL: w.hub.URL, Token: w.hub.AdminToken, CAPEM: w.ca}); err != nil {
		t.Fatal(err)
	}
	if w.axle, err = bin.Path(t.Context(), "axle", bin.Options{}); err != nil {
		t.Fatal(err)
	}
	made, err := w.client.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "edge", Tags: map[string]string{"tier": "test"}}))
	if err != nil {
		t.Fatal(err)
	}
	agenttest.Start(t, agenttest.Config{HubURL: w.hub.URL, Kubeconfig: c.Kubeconfig(), CAFile: w.hub.CAFile(), BootstrapToken: made.Msg.GetBootstrapToken()})
	eventually.For(t, limit, "the tunnel", func() error {
		c, err := w.client.Clusters.Get(t.Context(), connect.NewRequest(&hubv1.GetClusterRequest{Name: "edge"}))
		if err == nil && c.Msg.GetTunnel() != "Up" {
			err = fmt.Errorf("the tunnel is %s", c.Msg.GetTunnel())
		}
		return err
	})
	return w
}

// command runs axle, or kubectl, as a person does.
func (w *whole) command(program string, args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(w.t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "AXLE_HUB_URL="+w.hub.URL, "AXLE_TOKEN="+w.hub.AdminToken, "AXLE_CA_FILE="+w.hub.CAFile(),
		"PATH="+filepath.Dir(w.axle)+":"+os.Getenv("PATH"), "HOME="+w.t.TempDir())
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, 5*time.Second
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// TestKubeconfigsThroughHubAndAgent is the whole way: axle's kubeconfigs,
// kubectl, the hub's listener, the tunnel, the agent, the API server.
func TestKubeconfigsThroughHubAndAgent(t *testing.T) {
	t.Parallel()
	w := newWhole(t)
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	namespace := c.Namespace(t)
	letRead(t, c, namespace)
	for name, flags := range map[string][]string{"short-lived": nil, "exec plugin": {"--exec-plugin"}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kubeconfig")
			if _, errs, err := w.command(w.axle, append([]string{"clusters", "kubeconfig", "edge", "--output", path}, flags...)...); err != nil {
				t.Fatalf("%v %s", err, errs)
			}
			text, err := os.ReadFile(path)
			if err != nil || strings.Contains(string(text), w.hub.AdminToken) {
				t.Errorf("the kubeconfig holds the long-lived token (%v)", err)
			}
			out, errs, err := w.command("kubectl", "--kubeconfig", path, "auth", "whoami", "-o", "json")
			if err != nil || !strings.Contains(out, hubtest.Admin) || !strings.Contains(out, "axle:admins") {
				t.Errorf("whoami: %v %s %s", err, out, errs)
			}
			config, err := clientcmd.LoadFromFile(path)
			if err != nil || config.CurrentContext != "edge" {
				t.Errorf("context %q, %v", config.CurrentContext, err)
			}
		})
	}
	t.Run("what kubectl asks without the server's path", func(t *testing.T) { w.raw(t) })
	t.Run("as long as an API server takes it", func(t *testing.T) { w.long(t) })
	t.Run("many clusters, one missing", func(t *testing.T) {
		out, errs, err := w.command(w.axle, "kubectl", "--clusters", "tier=test", "--", "get", "ns", namespace, "-o", "name")
		if err != nil || out != "edge  namespace/"+namespace+"\n" {
			t.Errorf("%v\n%s%s", err, out, errs)
		}
		out, _, err = w.command(w.axle, "-o", "json", "kubectl", "--clusters", "edge,gone", "--", "get", "ns", namespace, "-o", "json")
		var outcomes []struct {
			Cluster  string
			OK       bool
			ExitCode int
			Output   corev1.Namespace
			Error    string
		}
		if jerr := json.Unmarshal([]byte(out), &outcomes); jerr != nil || len(outcomes) != 2 || err == nil {
			t.Fatalf("%v %v\n%s", err, jerr, out)
		}
		if !outcomes[0].OK || outcomes[0].Output.Name != namespace || outcomes[1].OK || outcomes[1].ExitCode != 1 || !strings.Contains(outcomes[1].Error, "gone") {
			t.Errorf("got %+v", outcomes)
		}
	})
	t.Run("lists and watches", func(t *testing.T) { w.listAndWatch(t, namespace) })
	t.Run("audit", func(t *testing.T) {
		eventually.For(t, limit, "the record", func() error {
			list, err := w.client.Audit.List(t.Context(), connect.NewRequest(&hubv1.ListAuditRequest{}))
			if err != nil {
				return err
			}
			for _, r := range list.Msg.GetRecords() {
				if text := r.String(); strings.Contains(text, "kubernetes") && strings.Contains(text, namespace) && strings.Contains(text, hubtest.Admin) {
					return nil
				}
			}
			return fmt.Errorf("%d records, none of them", len(list.Msg.GetRecords()))
		})
	})
	t.Run("a revoked token", func(t *testing.T) { w.revoke(t, namespace) })
}

// raw: kubectl get --raw leaves out the path of the server. The hub answered for the
// cluster, so that a dead one looked healthy.
func (w *whole) raw(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if _, errs, err := w.command(w.axle, "clusters", "kubeconfig", "edge", "--output", path); err != nil {
		t.Fatalf("%v %s", err, errs)
	}
	for uri, says := range map[string]string{
		"/readyz?verbose": "[+]etcd ok", "/livez?verbose": "[+]ping ok", "/healthz?verbose": "[+]ping ok", "/version": "gitVersion", "/api/v1/namespaces/default": `"kind":"Namespace"`,
	} {
		out, errs, err := w.command("kubectl", "--kubeconfig", path, "get", "--raw", uri)
		if err != nil || !strings.Contains(out, says) {
			t.Errorf("%s: %v %.300s %s, want %s", uri, err, out, errs, says)
		}
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A credential that ended, or a token that is of no cluster, gets no answer of the hub's.
	for token, says := range map[string]string{"axle_k8s_none": "not a credential of a cluster", w.hub.AdminToken: "this is the hub"} {
		config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo].Token = token
		config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo].Exec = nil
		if err := clientcmd.WriteToFile(*config, path); err != nil {
			t.Fatal(err)
		}
		out, errs, err := w.command("kubectl", "--kubeconfig", path, "get", "--raw", "/readyz")
		if err == nil || !strings.Contains(errs, says) {
			t.Errorf("with another token: %v %s %s, want %s", err, out, errs, says)
		}
	}
	// The hub's own probe has no credential.
	answer, err := w.httpClient(t).Get(w.hub.URL + "/readyz") //nolint:noctx // the client has a timeout
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("the hub's own probe: %s, %v", answer.Status, err)
	}
}

// long: a path and query of more than 8 KiB, as a long selector makes them, were refused.
func (w *whole) long(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if _, errs, err := w.command(w.axle, "clusters", "kubeconfig", "edge", "--output", path); err != nil {
		t.Fatalf("%v %s", err, errs)
	}
	values := make([]string, 2000)
	for i := range values {
		values[i] = fmt.Sprintf("application-%04d", i)
	}
	out, errs, err := w.command("kubectl", "--kubeconfig", path, "get", "namespaces", "-o", "name", "-l", "kubernetes.io/metadata.name in (default,"+strings.Join(values, ",")+")")
	if err != nil || out != "namespace/default\n" {
		t.Errorf("a selector of %d KiB: %v %.300s %.300s", len(strings.Join(values, ","))>>10, err, out, errs)
	}
}

// listAndWatch reads by the RPCs that a page uses.
func (w *whole) listAndWatch(t *testing.T, namespace string) {
	objects := &hubv1.ClusterObjects{Cluster: "edge", Version: "v1", Resource: "configmaps", Namespace: namespace}
	c, err := cluster()
	if err != nil {
		t.Fatal(err)
	}
	api, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := api.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m%d", i)}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	//rest: the hub keeps no objects, and asks the API server
	first, err := w.client.ClusterAPI.ListObjects(t.Context(), connect.NewRequest(&hubv1.ListClusterObjectsRequest{Objects: objects, Limit: 2}))
	if err != nil {
		t.Fatal(err)
	}
	var list corev1.ConfigMapList
	if err := json.Unmarshal(first.Msg.GetJson(), &list); err != nil || len(list.Items) != 2 || first.Msg.GetContinue() == "" {
		t.Fatalf("%d objects, continue %q, %v", len(list.Items), first.Msg.GetContinue(), err)
	}
	rest, err := w.client.ClusterAPI.ListObjects(t.Context(), connect.NewRequest(&hubv1.ListClusterObjectsRequest{Objects: objects, Continue: first.Msg.GetContinue(), Table: true}))
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(rest.Msg.GetJson(), &table); err != nil || table.Kind != "Table" || len(table.Rows) != 1 {
		t.Errorf("the rest is %s of %d rows, %v", table.Kind, len(table.Rows), err)
	}
	watch, err := w.client.ClusterAPI.WatchObjects(t.Context(), connect.NewRequest(&hubv1.WatchClusterObjectsRequest{Objects: objects, ResourceVersion: rest.Msg.GetResourceVersion()}))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	if err := api.CoreV1().ConfigMaps(namespace).Delete(t.Context(), "m1", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for watch.Receive() {
		if watch.Msg().GetType() == "DELETED" {
			return
		}
	}
	t.Errorf("the watch ended: %v", watch.Err())
}

// revoke revokes a token during a watch.
func (w *whole) revoke(t *testing.T, namespace string) {
	made, err := w.client.Tokens.Create(t.Context(), connect.NewRequest(&hubv1.CreateTokenRequest{Name: "for a while", Scopes: []string{"read"}}))
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.hub.URL+"/k8s/clusters/edge/api/v1/namespaces/"+namespace+"/configmaps?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+made.Msg.GetSecret())
	response, err := w.httpClient(t).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
	if _, err := w.client.Tokens.Revoke(t.Context(), connect.NewRequest(&hubv1.RevokeTokenRequest{Id: made.Msg.GetToken().GetId()})); err != nil {
		t.Fatal(err)
	}
	// The hub ends it; the API server would end it only minutes later.
	if text := readAll(response.Body); !strings.Contains(text, "(") {
		t.Errorf("the watch ended in order after %s", text)
	}
}

// TestRightsInACluster: a user of the hub has exactly the rights that RBAC gives.
func TestRightsInACluster(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	namespace := b.kube.Namespace(t)
	letRead(t, b.kube, namespace)
	_, err := b.direct().RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "dev"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "dev"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		token, path string
		want        int
	}{
		"in her namespace":     {aliceToken, "/api/v1/namespaces/" + namespace + "/secrets", 200},
		"elsewhere":            {aliceToken, "/api/v1/namespaces/kube-system/secrets", 403},
		"an administrator":     {adminToken, "/api/v1/namespaces/kube-system/secrets", 200},
		"a stranger":           {strangerToken, "/version", 403},
		"nobody":               {"axle_nobody", "/version", 401},
		"a reader":             {readerToken, "/api/v1/namespaces/" + namespace + "/configmaps", 200},
		"a reader of Secrets":  {readerToken, "/api/v1/namespaces/" + namespace + "/secrets", 403},
		"a reader elsewhere":   {readerToken, "/api/v1/namespaces/kube-system/secrets", 403},
		"a reader who execs":   {readerToken, "/api/v1/namespaces/kube-system/pods/x/exec?command=sh", 403},
		"a reader who proxies": {readerToken, "/api/v1/nodes/x/proxy/", 403},
	}
	eventually.For(t, limit, "the binding", func() error {
		if r, body := b.get(aliceToken, tests["in her namespace"].path); r.StatusCode != 200 {
			return fmt.Errorf("%s %s", r.Status, body)
		}
		return nil
	})
	for name, test := range tests {
		if r, body := b.get(test.token, test.path); r.StatusCode != test.want || test.want != 200 && !strings.Contains(body, `"kind":"Status"`) {
			t.Errorf("%s: %s %s, want %d", name, r.Status, body, test.want)
		}
	}
	if err := b.client(b.rest(readerToken)).CoreV1().ConfigMaps(namespace).Delete(t.Context(), "x", metav1.DeleteOptions{}); errcode.Of(err) == "" {
		t.Error("a reader deleted")
	}
}

// httpClient trusts the hub's own authority.
func (w *whole) httpClient(t *testing.T) *http.Client {
	t.Helper()
	ca, err := os.ReadFile(w.hub.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
