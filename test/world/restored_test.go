//go:build soak

package world_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/world"
)

// TestAManagementClusterIsRestoredFromASnapshot takes a snapshot of the etcd of a management
// cluster, destroys a cluster and makes a service, and restores the snapshot by etcdutl. What the
// backup brings back is reported by name and settled by the commands; what it lacks is applied
// again.
func TestAManagementClusterIsRestoredFromASnapshot(t *testing.T) {
	dir := t.TempDir()
	etcdutl := filepath.Join(dir, "etcdutl")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", etcdutl, ".")
	build.Dir, build.Env = "../kube/etcdutl", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build etcdutl: %v %s", err, out)
	}
	s := newStageOf(t, world.Config{Dir: filepath.Join(dir, "world"), Clusters: []string{"mgmt"}, Hub: []string{"--repo-poll-interval", "2s"}})
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := s.Kubectl(t.Context(), "mgmt", args...)
		s.must(err)
		return strings.TrimSpace(out.Out)
	}
	until := func(what string, check func() error) {
		t.Helper()
		eventually.For(t, 3*time.Minute, what, check)
	}
	clusters := func() string {
		return kubectl("get", "clusters.cluster.x-k8s.io", "-A", "-o", "jsonpath={range .items[*]}{.metadata.name} {end}")
	}
	definitions := filepath.Join(dir, "definitions.yaml")
	s.must(os.WriteFile(definitions, []byte(clusterDefinitions(playTemplate("small"))), 0o600))
	kubectl("apply", "-f", definitions)
	s.established()
	files := playTemplate("small")
	files["late/one.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late}\ndata: {a: b}\n"
	s.commitFiles("fleet", "a template", files)
	s.axle("clusters", "templates", "apply", "play", "--repository", "fleet", "--ref", "main", "--folder", "play", "--management-clusters", "mgmt",
		"--kinds", "Cluster.cluster.x-k8s.io,ClusterClass.cluster.x-k8s.io,PlayClusterTemplate.infrastructure.cluster.x-k8s.io")
	services := map[string]string{}
	for _, name := range []string{"gone", "kept", "here"} {
		s.axle("clusters", "create", name, "--template", "play", "--set", "region=eu", "--on", "mgmt")
		service := strings.TrimSpace(s.axle("clusters", "get", name, "-o", "jsonpath={.origin.service}"))
		services[name] = strings.TrimSpace(s.axle("services", "get", "mgmt/"+service, "-o", "jsonpath={.id}"))
		s.axle("services", "wait", "mgmt/"+service, "--timeout", "2m")
	}

	snapshot := filepath.Join(dir, "snapshot.db")
	s.must(s.Bed().Snapshot(t.Context(), snapshot))
	s.axle("clusters", "destroy", "gone", "kept", "--force", "--yes")
	if have := clusters(); have != "here" {
		t.Fatalf("before the restore there are %s", have)
	}
	s.axle("services", "create", "mgmt/late", "--repo", "fleet", "--ref", "main", "--folder", "late", "--namespace", "late")
	s.axle("services", "wait", "mgmt/late", "--timeout", "2m")

	s.must(s.agents["mgmt"].Kill())
	s.must(s.Bed().Restore(t.Context(), etcdutl, snapshot))
	if have := clusters(); !strings.Contains(have, "gone") || !strings.Contains(have, "kept") {
		t.Fatalf("the snapshot brought back %s", have)
	}
	s.must(s.agents["mgmt"].Start())
	until("both by name", func() error {
		list := s.axle("clusters", "orphans", "list", "mgmt", "-o", "json")
		for _, name := range []string{"gone", "kept"} {
			if !strings.Contains(list, services[name]) || !strings.Contains(list, "the machines of its cluster "+name) {
				return fmt.Errorf("it has %s", list)
			}
		}
		if strings.Contains(list, services["here"]) {
			t.Errorf("a service of the list is among them: %s", list)
		}
		return nil
	})
	until("what the backup lacks", func() error {
		_, err := s.Kubectl(t.Context(), "mgmt", "get", "configmap", "late", "-n", "late")
		return err
	})
	if have := clusters(); !strings.Contains(have, "gone") || !strings.Contains(have, "kept") {
		t.Errorf("nobody decided, and there are %s", have)
	}
	s.axle("clusters", "orphans", "remove", "mgmt", services["gone"], "--yes")
	s.axle("clusters", "orphans", "keep", "mgmt", services["kept"])
	if have := clusters(); strings.Contains(have, "gone") || !strings.Contains(have, "kept") || !strings.Contains(have, "here") {
		t.Errorf("afterwards there are %s", have)
	}
	until("the end of the report", func() error {
		if list := s.axle("clusters", "orphans", "list", "mgmt"); strings.Contains(list, "svc-") {
			return fmt.Errorf("it has %s", list)
		}
		return nil
	})
	if left := kubectl("get", "secrets", "-A", "-l", "axle-cd.github.io/inventory in ("+services["gone"]+","+services["kept"]+")", "-o", "name"); left != "" {
		t.Errorf("the inventories %s stay", left)
	}
}
