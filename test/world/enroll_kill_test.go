//go:build soak

package world_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/world"
)

// TestConnectionKilledAtEachCall kills the agent of a management cluster before and after each
// call that it makes to a new cluster until that has an agent, and the hub after each second
// of them. However often each began anew, the new cluster has one Deployment, and a token
// that the hub takes. make test kills it once, between two objects.
func TestConnectionKilledAtEachCall(t *testing.T) {
	t.Parallel()
	s := newStage(t, "mgmt")
	on := func(cluster string, args ...string) string {
		t.Helper()
		out, err := s.Kubectl(t.Context(), cluster, args...)
		s.must(err)
		return strings.TrimSpace(out.Out)
	}
	file := func(name, text string) string {
		name = filepath.Join(t.TempDir(), name)
		s.must(os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	on("mgmt", "apply", "-f", file("definitions.yaml", clusterDefinitions(playTemplate("small"))))
	on("mgmt", "wait", "--for=condition=Established", "crd", "--all")
	s.commitFiles("fleet", "a template", playTemplate("small"))
	s.axle("clusters", "templates", "apply", "play", "--repository", "fleet", "--ref", "main", "--folder", "play", "--management-clusters", "mgmt",
		"--kinds", "Cluster.cluster.x-k8s.io,ClusterClass.cluster.x-k8s.io,PlayClusterTemplate.infrastructure.cluster.x-k8s.io")
	s.axle("clusters", "create", "web", "--template", "play", "--set", "region=eu")
	namespace := strings.TrimSpace(s.axle("clusters", "get", "web", "-o", "jsonpath={.origin.namespace}"))
	eventually.For(t, within, "the Cluster object", func() error {
		_, err := s.Kubectl(t.Context(), "mgmt", "get", "clusters.cluster.x-k8s.io", "web", "-n", namespace)
		return err
	})

	workload, err := s.AddCluster(t.Context(), "web")
	s.must(err)
	proxy := newKillProxy(t, workload, "maker")
	maker := s.agents["mgmt"]
	proxy.kill = func() { _ = maker.Kill() }
	s.must(maker.Kill())
	on("mgmt", "create", "secret", "generic", "web-kubeconfig", "-n", namespace, "--type=cluster.x-k8s.io/secret", "--from-file=value="+file("kubeconfig",
		fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\n", proxy.URL)))
	deployed := func() string {
		return on("web", "get", "deployments", "-n", "axle-system", "--ignore-not-found", "-o", "name")
	}
	deaths := 0
	for n := 1; deployed() == ""; n++ {
		for _, after := range []bool{false, true} {
			proxy.begin([]death{{nth: n, after: after}})
			s.must(maker.Start())
			select {
			case <-proxy.died:
				deaths++
			case <-time.After(within):
				t.Fatalf("nobody came to die at call %d; end of the agent's log:\n%s", n, maker.Tail())
			}
			if after {
				s.must(s.Hub.Kill())
				s.must(s.Hub.Start(t.Context()))
			}
		}
	}
	const fewest = 16 // a namespace, accounts, rights, a Secret, a Deployment, and what is looked for before
	if deaths < fewest {
		t.Errorf("the agent died %d times: it makes fewer calls than objects", deaths)
	}
	proxy.begin(nil)
	s.must(maker.Start())
	if have := deployed(); have != "deployment.apps/axle-agent" {
		t.Errorf("the cluster has %q", have)
	}
	token, err := base64.StdEncoding.DecodeString(on("web", "get", "secret", "axle-agent-bootstrap", "-n", "axle-system", "-o", "jsonpath={.data.token}"))
	s.must(err)
	agent, err := s.ConnectProcess(t.Context(), "web", world.AgentOptions{Token: string(token)})
	s.must(err)
	s.agents["web"] = agent
	s.deploy("web", "app", "app")
	if have := on("web", "get", "configmap", "two", "-n", "app", "-o", "jsonpath={.data.word}"); have != "always" {
		t.Errorf("the service wrote %q", have)
	}
	t.Logf("%d deaths", deaths)
}
