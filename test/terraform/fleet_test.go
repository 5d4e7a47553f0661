package terraform_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/deploy"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/kubeapply"
	"github.com/axle-cd/axle/operator"
	"github.com/axle-cd/axle/operator/controller"
	"github.com/axle-cd/axle/sdk"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/kube"
)

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
  agent   = { kubeconfig_wo = var.mgmt, wait = "4m" }
}
resource "axle_cluster" "edge" {
  name    = "edge"
  tags    = { role = "edge" }
  agent = {
    wait = "4m"
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
  timeout  = "4m"
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
