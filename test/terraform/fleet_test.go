package terraform_test

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/axle-cd/axle/agent/agenttest"
	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/deploy"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/operator"
	"github.com/axle-cd/axle/operator/controller"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/kube"
)

const (
	version = "1.4.2"
	limit   = 90 * time.Second
	// planted is a secret that no file may have.
	planted = "planted-password-2718"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// providerFolder is a folder with the zip file of the provider, as a release has it.
func providerFolder(t *testing.T) string {
	t.Helper()
	program, err := bin.Path(t.Context(), "terraform-provider-axle", bin.Options{Version: version})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "terraform-provider-axle_"+version+"_linux_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(file)
	header := &zip.FileHeader{Name: "terraform-provider-axle_v" + version, Method: zip.Store}
	header.SetMode(0o755)
	entry, err := w.CreateHeader(header)
	if err == nil {
		_, err = entry.Write(data)
	}
	if err := errors.Join(err, w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

type run struct {
	t       *testing.T
	program string
	dir     string
	env     []string
}

func (r *run) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, r.program, args...)
	c.Dir, c.Env = r.dir, r.env
	out, err := c.CombinedOutput()
	return string(out), err
}

func (r *run) terraform(args ...string) string {
	r.t.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.t.Fatalf("%s %s: %v\n%s", r.program, strings.Join(args, " "), err, out)
	}
	return out
}

func (r *run) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func start(t *testing.T, h *hubtest.Hub, config string) *run {
	t.Helper()
	r := &run{t: t, program: "terraform", dir: t.TempDir()}
	r.write("terraform.rc", config)
	r.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(r.dir, "terraform.rc"), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1",
		"TF_LOG=TRACE", "TF_LOG_PATH="+filepath.Join(r.dir, "trace.log"), "SSL_CERT_FILE="+h.CAFile(),
		"AXLE_HUB_URL="+h.URL, "AXLE_TOKEN="+h.AdminToken, "AXLE_CA_FILE="+h.CAFile(), "TF_VAR_password="+planted)
	return r
}

// programs are terraform and, with AXLE_SOAK=1, an OpenTofu that is built first.
func programs(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"terraform": "terraform"}
	if os.Getenv("AXLE_SOAK") != "" {
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, "./opentofu.sh").Output()
		if err != nil {
			t.Fatalf("build OpenTofu: %v\n%s", err, out)
		}
		_, dir, _ := strings.Cut(string(out), "ready in ")
		all["tofu"] = filepath.Join(strings.TrimSpace(dir), "tofu")
	}
	return all
}

// TestInitFindsTheProviderAtTheHub by the registry protocol, and then by the mirror. What
// it finds goes through a life: make, nothing to change, and destroy.
func TestInitFindsTheProviderAtTheHub(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{DevCA: true, TerraformProviders: providerFolder(t)}})
	address, err := url.Parse(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, program := range programs(t) {
		for source, config := range map[string]string{"localhost:" + address.Port() + "/axle-cd/axle": "", "axle-cd/axle": mirrorOf(h)} {
			t.Run(name+" "+source, func(t *testing.T) {
				r := start(t, h, config)
				r.program = program
				r.write("main.tf", fmt.Sprintf(`
terraform {
  required_providers {
    axle = {
      source  = %q
      version = "~> 1.4"
    }
  }
}
variable "password" {
  type      = string
  ephemeral = true
}
ephemeral "axle_token" "run" {
  name = "of this run"
}
resource "axle_service_context" "x" {
  name               = "x"
  secrets_wo         = { password = var.password, token = ephemeral.axle_token.run.token }
  secrets_wo_version = 1
}
data "axle_projects" "all" {}
output "projects" {
  value = length(data.axle_projects.all.projects)
}
output "handle" {
  value = provider::axle::handle("Prod EU")
}
`, source))
				out := r.terraform("init", "-no-color")
				if hosted := config == ""; !strings.Contains(out, "v"+version) || strings.Contains(out, "signed, key ID") != hosted {
					t.Errorf("init says %s", out)
				}
				lock, err := os.ReadFile(filepath.Join(r.dir, ".terraform.lock.hcl"))
				if err != nil || !strings.Contains(string(lock), "h1:") || config == "" && !strings.Contains(string(lock), "zh:") {
					t.Errorf("the lock file is %s, %v", lock, err)
				}
				if out := r.terraform("apply", "-auto-approve", "-no-color"); !strings.Contains(out, `handle = "prod-eu"`) {
					t.Errorf("the apply says %s", out)
				}
				if out := r.terraform("plan", "-no-color", "-detailed-exitcode"); !strings.Contains(out, "No changes") {
					t.Errorf("the second plan is %s", out)
				}
				r.terraform("destroy", "-auto-approve", "-no-color")
				secrecy(t, r)
			})
		}
	}
}

// TestFleet makes a fleet by Terraform and a service on it by a global service, which an
// operator beside it only reads, and destroys all of it.
func TestFleet(t *testing.T) {
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = git.Close() })
	if err := git.Create(t.Context(), "fleet"); err != nil {
		t.Fatal(err)
	}
	if _, err := git.Commit(t.Context(), "fleet", "main", "greeting", map[string]gitserver.Content{
		"greeting/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: greeting\ndata:\n  text: hello\n",
	}); err != nil {
		t.Fatal(err)
	}
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{DevCA: true, AllowHTTPUpstreams: true, TerraformProviders: providerFolder(t)}})
	r := start(t, h, mirrorOf(h))
	clusters := map[string]*kube.Cluster{}
	for _, name := range []string{"mgmt", "edge"} {
		clusters[name] = kube.New(t, kube.ClusterConfig{Controllers: true})
		go runAgent(t, h, clusters[name])
	}
	// The one is reached by a kubeconfig, the other by a program that prints a token.
	kubeconfig, err := os.ReadFile(clusters["mgmt"].Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(clusters["edge"].Config().BearerToken), 0o600); err != nil {
		t.Fatal(err)
	}
	r.env = append(r.env, "TF_VAR_mgmt="+string(kubeconfig), "TF_VAR_edge_ca="+string(clusters["edge"].CA()))
	config := fmt.Sprintf(`
terraform {
  required_providers {
    axle = {
      source = "axle-cd/axle"
    }
  }
}
variable "password" {
  type      = string
  ephemeral = true
}
variable "mgmt" {
  type      = string
  ephemeral = true
}
variable "edge_ca" {
  type      = string
  ephemeral = true
}
resource "axle_project" "fleet" {
  name = "fleet"
}
resource "axle_repository" "fleet" {
  name = "fleet"
  url  = %q
}
resource "axle_service_context" "secret" {
  name               = "secret"
  secrets_wo         = { password = var.password }
  secrets_wo_version = 1
}
resource "axle_cluster" "mgmt" {
  name    = "mgmt"
  tags    = { role = "mgmt" }
  agent   = { kubeconfig_wo = var.mgmt, wait = "1m" }
}
resource "axle_cluster" "edge" {
  name    = "edge"
  tags    = { role = "edge" }
  agent = {
    wait = "1m"
    cluster_wo = {
      host                   = %q
      cluster_ca_certificate = var.edge_ca
      exec = {
        command = "sh"
        args    = ["-c", "printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"%%s\"}}' \"$(cat $EDGE_TOKEN)\""]
        env     = { EDGE_TOKEN = %q }
      }
    }
  }
}
resource "axle_global_service" "greeting" {
  name    = "greeting"
  cascade = "delete"
  template = {
    namespace  = "greeting"
    repository = axle_repository.fleet.name
    git        = { ref = "main", folder = "greeting" }
  }
  depends_on = [axle_cluster.mgmt, axle_cluster.edge]
}
resource "axle_service_wait" "greeting" {
  for_each = toset(["mgmt", "edge"])
  cluster  = each.key
  service  = axle_global_service.greeting.name
  warmup   = "30s"
  timeout  = "2m"
}
`, git.URL("fleet"), clusters["edge"].URL(), token)
	r.write("main.tf", config)
	r.terraform("init", "-no-color")
	r.terraform("apply", "-auto-approve", "-no-color")
	if out := r.terraform("plan", "-no-color", "-detailed-exitcode"); !strings.Contains(out, "No changes") {
		t.Errorf("the second plan is %s", out)
	}
	for name, c := range clusters {
		if got := greeting(t, c); got != "hello" {
			t.Errorf("on %s, the greeting is %q", name, got)
		}
	}
	readonly(t, h, clusters["mgmt"])
	upgrade(t, r, config, clusters["mgmt"])

	r.terraform("destroy", "-auto-approve", "-no-color")
	people, err := sdk.New(sdk.Config{URL: h.URL, Token: h.AdminToken, CAPEM: pem(t, h)})
	if err != nil {
		t.Fatal(err)
	}
	left, err := people.Clusters.List(t.Context(), connect.NewRequest(&hubv1.ListClustersRequest{}))
	if err != nil || len(left.Msg.GetClusters()) > 0 {
		t.Errorf("the hub still has %v, %v", left.Msg.GetClusters(), err)
	}
	for name, c := range clusters {
		nothing(t, name, c)
	}
	secrecy(t, r)
}

func pem(t *testing.T, h *hubtest.Hub) []byte {
	t.Helper()
	text, err := os.ReadFile(h.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// runAgent is the Deployment that Terraform applied: it starts when its bootstrap token
// is there, and ends with the test.
func runAgent(t *testing.T, h *hubtest.Hub, c *kube.Cluster) {
	api, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Error(err)
		return
	}
	token := ""
	err = eventually.Wait(t.Context(), limit, func() error {
		secret, err := api.CoreV1().Secrets("axle-system").Get(t.Context(), "axle-agent-bootstrap", metav1.GetOptions{})
		if err == nil {
			token = string(secret.Data["token"])
		}
		return err
	})
	if err != nil {
		t.Errorf("the bootstrap token is not there: %v", err)
		return
	}
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Error(err)
		return
	}
	a, err := agenttest.Run(t.Context(), agenttest.Config{HubURL: h.URL, Kubeconfig: c.Kubeconfig(), CAFile: h.CAFile(), BootstrapToken: token}, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Errorf("the agent does not start: %v", err)
		return
	}
	<-t.Context().Done()
	if err := errors.Join(a.Stop(), os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, "an agent ended:", err)
	}
}

func greeting(t *testing.T, c *kube.Cluster) string {
	t.Helper()
	api, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	have, err := api.CoreV1().ConfigMaps("greeting").Get(t.Context(), "greeting", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return have.Data["text"]
}

// upgrade changes the agent's objects in place, through the hub with a kubeconfig for one
// run, and waits for a service again.
func upgrade(t *testing.T, r *run, config string, c *kube.Cluster) {
	t.Helper()
	config = strings.Replace(config, `{ kubeconfig_wo = var.mgmt, wait`, `{ poll_interval = "45s", kubeconfig_wo = ephemeral.axle_kubeconfig.mgmt.raw, wait`, 1)
	config = strings.Replace(config, `  warmup   = "30s"`, `  warmup   = "30s"`+"\n  triggers = { again = \"yes\" }", 1)
	r.write("main.tf", config+"ephemeral \"axle_kubeconfig\" \"mgmt\" {\n  cluster = \"mgmt\"\n}\n")
	out := r.terraform("apply", "-auto-approve", "-no-color")
	for _, want := range []string{"axle_cluster.mgmt will be updated in-place", `axle_service_wait.greeting["edge"] must be replaced`, "2 added, 1 changed, 2 destroyed"} {
		if !strings.Contains(out, want) {
			t.Errorf("the apply does not say %q:\n%s", want, out)
		}
	}
	api, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	have, err := api.AppsV1().Deployments("axle-system").Get(t.Context(), "axle-agent", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(have.Spec.Template.Spec.Containers); !strings.Contains(text, "45s") {
		t.Errorf("the agent polls otherwise: %s", text)
	}
	if out := r.terraform("plan", "-no-color", "-detailed-exitcode"); !strings.Contains(out, "No changes") {
		t.Errorf("the plan after the change is %s", out)
	}
}

// TestClusterUnreachable installs an agent in a cluster that does not answer, and then in
// one that is lost in the middle.
func TestClusterUnreachable(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{Hub: hubtest.HubConfig{DevCA: true, TerraformProviders: providerFolder(t)}})
	r := start(t, h, mirrorOf(h))
	c := kube.New(t, kube.ClusterConfig{Controllers: true})
	transport, err := rest.TransportFor(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	var lost atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lost.Load() && r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/secrets/") {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	config := func(limit string) string {
		return fmt.Sprintf("terraform {\n  required_providers {\n    axle = {\n      source = \"axle-cd/axle\"\n    }\n  }\n}\nresource \"axle_cluster\" \"edge\" {\n  name  = \"edge\"\n  agent = { cluster_wo = { host = %q }, wait = \"1m\" }\n  timeouts {\n    create = %q\n  }\n}\n", front.URL, limit)
	}
	people, err := sdk.New(sdk.Config{URL: h.URL, Token: h.AdminToken, CAPEM: pem(t, h)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(people.Close)
	clusters := func(want int) {
		t.Helper()
		have, err := people.Clusters.List(t.Context(), connect.NewRequest(&hubv1.ListClustersRequest{}))
		if err != nil || len(have.Msg.GetClusters()) != want {
			t.Errorf("the hub has %v, want %d; %v", have.Msg.GetClusters(), want, err)
		}
	}

	// It takes connections and answers nothing: the timeouts block ends that, and nothing
	// is left at the hub.
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	r.write("main.tf", config("5s"))
	r.terraform("init", "-no-color")
	began := time.Now()
	r.fails("Cannot create cluster edge", "the cluster at "+front.URL+" does not answer")
	if took := time.Since(began); took > limit/2 {
		t.Errorf("it took %s with a limit of 5s", took)
	}
	clusters(0)
	if out := r.terraform("state", "list"); out != "" {
		t.Errorf("the state has %s", out)
	}
	c.Resume()

	// It is lost after some of the objects. The cluster is in the state.
	lost.Store(true)
	r.write("main.tf", config("1m"))
	r.fails("Cannot install the agent of cluster edge", "apply secret/axle-agent-bootstrap")
	clusters(1)
	if out := r.terraform("state", "list"); out != "axle_cluster.edge\n" {
		t.Errorf("the state has %s", out)
	}

	// The next apply ends well.
	lost.Store(false)
	go runAgent(t, h, c)
	r.terraform("apply", "-auto-approve", "-no-color")
	clusters(1)
	if out := r.terraform("plan", "-no-color", "-detailed-exitcode"); !strings.Contains(out, "No changes") {
		t.Errorf("the plan is %s", out)
	}
	if out := r.terraform("destroy", "-auto-approve", "-no-color"); strings.Contains(out, "may still be in the cluster") {
		t.Errorf("the agent was not removed:\n%s", out)
	}
	clusters(0)
	nothing(t, "edge", c)
}

// mirrorOf makes terraform find the provider in a hub's mirror.
func mirrorOf(h *hubtest.Hub) string {
	return fmt.Sprintf("provider_installation {\n  network_mirror {\n    url     = \"%s/terraform/mirror/\"\n    include = [\"axle-cd/axle\"]\n  }\n  direct {\n    exclude = [\"axle-cd/axle\"]\n  }\n}\n", h.URL)
}

// fails wants an apply that ends with these texts.
func (r *run) fails(want ...string) {
	r.t.Helper()
	out, err := r.try("apply", "-auto-approve", "-no-color")
	if err == nil {
		r.t.Fatalf("the apply does not fail:\n%s", out)
	}
	flat := strings.Join(strings.Fields(out), " ")
	for _, text := range want {
		if !strings.Contains(flat, text) {
			r.t.Errorf("the apply does not say %q:\n%s", text, out)
		}
	}
}

// readonly lets an operator read a Cluster object for a cluster that Terraform manages.
func readonly(t *testing.T, h *hubtest.Hub, c *kube.Cluster) {
	t.Helper()
	to, err := kubeapply.New(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(deploy.CRDs, "crds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := deploy.CRDs.ReadFile(name)
		if err == nil {
			err = to.ApplyAll(t.Context(), text, "test", func(string) {})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte(h.AdminToken), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- operator.Run(ctx, operator.Config{
			HubURL: h.URL, CAFile: h.CAFile(), TokenFile: token, Kubeconfig: c.Kubeconfig(), Namespace: "default", Log: slog.New(slog.DiscardHandler),
			Timing: controller.Timing{Drift: time.Hour, Least: 10 * time.Millisecond, Missing: 200 * time.Millisecond, Pending: time.Hour, Discover: 100 * time.Millisecond, Retry: 50 * time.Millisecond, RetryMax: 500 * time.Millisecond},
		})
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the operator ended: %v", err)
		}
	}()
	objects, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	resource := objects.Resource(schema.GroupVersionResource{Group: "deployments.plural.sh", Version: "v1alpha1", Resource: "clusters"}).Namespace("default")
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "deployments.plural.sh/v1alpha1", "kind": "Cluster", "metadata": map[string]any{"name": "edge"}, "spec": map[string]any{"handle": "edge"},
	}}
	eventually.For(t, limit, "the CRD is served", func() error {
		_, err := resource.Apply(t.Context(), "edge", wanted, metav1.ApplyOptions{FieldManager: "test", Force: true})
		return err
	})
	eventually.For(t, limit, "the Cluster is Readonly", func() error {
		have, err := resource.Get(t.Context(), "edge", metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(have.Object, "status", "conditions")
		for _, one := range conditions {
			if c, ok := one.(map[string]any); ok && c["type"] == "Readonly" && c["status"] == "True" && strings.Contains(fmt.Sprint(c["message"]), "managed by terraform") {
				return nil
			}
		}
		return fmt.Errorf("conditions %v", conditions)
	})
	if err := resource.Delete(t.Context(), "edge", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// nothing wants that a cluster has nothing of an agent.
func nothing(t *testing.T, name string, c *kube.Cluster) {
	t.Helper()
	api, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	eventually.For(t, limit, "the namespace of the agent is gone from "+name, func() error {
		have, err := api.CoreV1().Namespaces().Get(t.Context(), "axle-system", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("%v %v", have.Status, err)
	})
	bindings, err := api.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bindings.Items {
		if strings.HasPrefix(b.Name, "axle") {
			t.Errorf("%s still has the binding %s", name, b.Name)
		}
	}
}

// secrecy looks for secrets in all files of the run.
func secrecy(t *testing.T, r *run) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(r.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(path, "/.terraform/") {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		for _, secret := range []string{planted, "client-key-data", "current-context"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s has %s", entry.Name(), secret)
			}
		}
		return err
	})
	if err != nil || files < 4 {
		t.Errorf("%d files, %v", files, err)
	}
}
