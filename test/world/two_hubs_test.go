package world_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/world"
)

// TestTwoHubsShareAManagementCluster has two real hubs, each with an agent on one management
// cluster. Neither replaces the other's agent by mistake, each makes its own cluster of one name,
// neither writes what the other's services have, a token reaches only its own hub, and what one
// destroys leaves the other's untouched.
func TestTwoHubsShareAManagementCluster(t *testing.T) {
	t.Parallel()
	takePlace(t)
	start := func(config world.Config) *stage {
		t.Helper()
		config.Hub = []string{"--repo-poll-interval", "2s", "--agent-image", world.AgentImage}
		w, err := world.Start(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		s := &stage{World: w, t: t}
		t.Cleanup(func() {
			if t.Failed() {
				s.showLogs()
			}
			if err := w.Close(); err != nil {
				t.Logf("end of a world: %v", err)
			}
		})
		s.must(w.Login(t.Context()))
		return s
	}
	first := start(world.Config{Clusters: []string{"mgmt", "edge"}, Pods: true})
	second := start(world.Config{})
	hubs := map[string]*stage{"first": first, "second": second}
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := first.Kubectl(t.Context(), "mgmt", args...)
		first.must(err)
		return strings.TrimSpace(out.Out)
	}
	until := func(what string, check func() error) {
		t.Helper()
		eventually.For(t, 3*time.Minute, what, check)
	}

	// The second hub does not take the first one's agent away, and says how both run.
	first.must(first.ConnectPod(t.Context(), "mgmt"))
	connect := []string{"clusters", "connect", "mgmt", "--kubeconfig", first.Cluster("mgmt").Kubeconfig(), "--image", world.AgentImage}
	out, err := second.Axle(t.Context(), connect...)
	if err == nil || !strings.Contains(out.Err, "is the agent of the hub at") || !strings.Contains(out.Err, "--agent-namespace") {
		t.Fatalf("the second hub took the agent: %v %s", err, out.Err)
	}
	if out, err := second.Axle(t.Context(), "clusters", "get", "mgmt"); err == nil {
		t.Errorf("the refusal left a cluster behind: %s", out.Out)
	}
	second.axle(append(connect, "--agent-namespace", "axle-two")...)

	definitions := filepath.Join(t.TempDir(), "definitions.yaml")
	first.must(os.WriteFile(definitions, []byte(clusterDefinitions(playTemplate("small"))), 0o600))
	kubectl("apply", "-f", definitions, "-f", "../../deploy/crds/deployments.plural.sh_pluralcapiclusters.yaml")
	first.established()
	namespace := map[string]string{}
	for _, name := range []string{"first", "second"} {
		s := hubs[name]
		s.must(s.Git.Create(t.Context(), "fleet"))
		files := playTemplate("small")
		files["app/one.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {of: " + name + "}\n"
		s.commitFiles("fleet", "a template", files)
		s.axle("repos", "add", "fleet", s.Git.URL("fleet"))
		s.axle("clusters", "templates", "apply", "play", "--repository", "fleet", "--ref", "main", "--folder", "play", "--management-clusters", "mgmt",
			"--kinds", "Cluster.cluster.x-k8s.io,ClusterClass.cluster.x-k8s.io,PlayClusterTemplate.infrastructure.cluster.x-k8s.io")
		s.axle("clusters", "create", "web-1", "--template", "play", "--set", "region="+name, "--on", "mgmt")
		namespace[name] = strings.TrimSpace(s.axle("clusters", "get", "web-1", "-o", "jsonpath={.origin.namespace}"))
	}
	regions := func() string {
		return kubectl("get", "clusters.cluster.x-k8s.io", "-A", "-o", "jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name}={.spec.topology.variables[?(@.name=='region')].value};{end}")
	}
	until("a cluster of each hub", func() error {
		have := regions()
		for name, in := range namespace {
			if !strings.Contains(have, in+"/web-1="+name+";") {
				return fmt.Errorf("the Clusters are %s", have)
			}
		}
		return nil
	})

	// One object that both deliver stays with the first, and the second shows why.
	for _, name := range []string{"first", "second"} {
		s := hubs[name]
		s.axle("services", "create", "mgmt/app", "--repo", "fleet", "--ref", "main", "--folder", "app", "--namespace", "shared")
		if name == "first" {
			s.axle("services", "wait", "mgmt/app", "--timeout", "2m")
		}
	}
	until("the second hub's refusal", func() error {
		text := second.axle("services", "get", "mgmt/app")
		if !strings.Contains(text, "it is applied by the agent of another cluster registration") {
			return fmt.Errorf("it shows %s", text)
		}
		return nil
	})
	if of := kubectl("get", "configmap", "one", "-n", "shared", "-o", "jsonpath={.data.of}"); of != "first" {
		t.Errorf("the object is of %s", of)
	}

	// A cluster that others made is for the hub whose agent the object names.
	policies := []string{"axle-capi-clusters", "axle-capi-clusters-axle-two"}
	for _, name := range policies {
		kubectl("wait", "--for=create", "validatingadmissionpolicybinding/"+name, "--timeout=2m")
	}
	until("the policies are in force", func() error {
		for _, name := range policies {
			made, err := time.Parse(time.RFC3339, kubectl("get", "validatingadmissionpolicybinding", name, "-o", "jsonpath={.metadata.creationTimestamp}"))
			if err != nil || time.Since(made) < 7*time.Second {
				return fmt.Errorf("%s is of %s: %w", name, made, err)
			}
		}
		return nil
	})
	kubectl("create", "namespace", "others")
	token := filepath.Join(t.TempDir(), "token")
	first.must(os.WriteFile(token, []byte(second.axle("tokens", "create", "--bootstrap", "--name-pattern", "edge-*", "--max-uses", "3", "--approved")), 0o600))
	kubectl("create", "secret", "generic", "hub-token", "-n", "others", "--from-file", token)
	kubectl("create", "secret", "generic", "edge-kubeconfig", "-n", "others", "--type", "cluster.x-k8s.io/secret", "--from-file", "value="+first.Cluster("edge").Kubeconfig())
	object := filepath.Join(t.TempDir(), "object.yaml")
	first.must(os.WriteFile(object, []byte(`apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: edge, namespace: others}
---
apiVersion: deployments.plural.sh/v1alpha1
kind: PluralCAPICluster
metadata: {name: edge-7, namespace: others, annotations: {axle-cd.github.io/agent-namespace: axle-two}}
spec: {capiClusterRef: {name: edge}, consoleTokenSecretRef: {name: hub-token, key: token}}
`), 0o600))
	kubectl("apply", "-f", object)
	until("the cluster at the second hub", func() error {
		out, err := second.Axle(t.Context(), "clusters", "get", "edge-7")
		if err == nil && !strings.Contains(out.Out, "Fresh") {
			err = fmt.Errorf("it has %s; the object: %s", out.Out, kubectl("get", "pluralcapicluster", "edge-7", "-n", "others", "-o", "jsonpath={.status.conditions}"))
		}
		return err
	})
	for _, of := range []struct {
		s    *stage
		name string
	}{{first, "first"}, {second, "second"}} {
		log := of.s.axle("audit", "list", "--since", "1h", "-o", "json")
		if asked := strings.Contains(log, "EnrollChild"); asked != (of.name == "second") {
			t.Errorf("the %s hub was asked for a child: %v", of.name, asked)
		}
	}

	// The end of the first hub's cluster is not the end of the second's.
	uid := func() string {
		return kubectl("get", "clusters.cluster.x-k8s.io", "web-1", "-n", namespace["second"], "-o", "jsonpath={.metadata.uid}")
	}
	before := uid()
	first.axle("clusters", "destroy", "web-1", "--force", "--yes")
	if have := regions(); strings.Contains(have, namespace["first"]) || uid() != before {
		t.Errorf("the Clusters are %s", have)
	}
	second.axle("services", "wait", "mgmt/"+strings.TrimSpace(second.axle("clusters", "get", "web-1", "-o", "jsonpath={.origin.service}")), "--timeout", "2m")
	if of := kubectl("get", "configmap", "one", "-n", "shared", "-o", "jsonpath={.data.of}"); of != "first" {
		t.Errorf("the object is of %s", of)
	}
}
