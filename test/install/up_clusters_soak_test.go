//go:build soak

package install_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/capi"
	"github.com/axle-cd/axle/test/capi/provider"
	"github.com/axle-cd/axle/test/kube"
)

// makes is a story whose repository declares clusters.
type makes struct {
	*story
	provider *provider.Provider
}

// From an empty folder to a fleet of two clusters that the repository declares, by Cluster
// API: killed once on the way, changed by a commit, and taken down by the commands that the
// refusals name.
func TestUpLocalMakesClusters(t *testing.T) {
	s := makes{story: beginServed(t, newBed(t))}
	capi.Start(t, s.Cluster)
	s.provider = provider.Start(t, s.Cluster, kube.ClusterConfig{Controllers: true, Binaries: programs(t)})
	s.flags = append(s.flags, "--workload", "bed")
	s.replace = append(s.replace, "--workload docker", "--workload bed")

	began := time.Now()
	s.killedAfter("bootstrap", s.flags...)
	out := s.page("../../docs/install/up.md", 2)
	t.Logf("from an empty folder to two clusters that are connected: %.0f s", time.Since(began).Seconds())
	for _, name := range []string{"dev", "prod"} {
		if table := strings.Join(strings.Fields(out), " "); !strings.Contains(table, "ClusterRegistration axle "+name+" Healthy") {
			t.Errorf("the table lacks %s: %s", name, out)
		}
		s.hasTheBaseline(name)
	}
	if out := s.page(filepath.Join(s.repo, "README.md"), 3); !strings.Contains(out, "Provisioned") || !strings.Contains(out, "nodePools") {
		t.Errorf("the commands of README.md about clusters: %s", out)
	}
	s.change("bootstrap/clusters/dev.yaml", "count: 1", "count: 2")
	s.eventually("the pool has the size that was committed", func() string {
		return s.must("clusters", "get", "dev", "-o", "go-template={{range .origin.state.pools}}{{.ready}} of {{.desired}}{{end}}")
	}, "2 of 2")
	if out := s.must("up", "upgrade", "--dir", s.repo); !strings.Contains(out, "already") {
		t.Errorf("the skeleton of this version: %s", out)
	}
	s.keepsItsClusters()
	s.destroys()
}

// admin is the administrator of a cluster that was made.
func (s *makes) admin(name string) *kubernetes.Clientset {
	s.t.Helper()
	at := s.must("clusters", "get", name, "-o", "jsonpath={.origin.namespace}")
	client, err := kubernetes.NewForConfig(s.provider.Cluster(strings.TrimSpace(at), name).Config())
	must(s.t, err)
	return client
}

// hasTheBaseline waits until a cluster has what a global service of the repository delivers.
func (s *makes) hasTheBaseline(name string) {
	s.t.Helper()
	client := s.admin(name)
	eventually.For(s.t, 3*time.Minute, "the baseline on "+name, func() error {
		_, err := client.SchedulingV1().PriorityClasses().Get(s.t.Context(), "platform", metav1.GetOptions{})
		return err
	})
}

// keepsItsClusters refuses to take the fleet down, and says of each cluster what destroys it.
func (s *makes) keepsItsClusters() {
	s.t.Helper()
	_, errs, code := s.axle(s.down("--confirm", "fleet", "--delete-repository")...)
	for _, name := range []string{"dev", "prod"} {
		want := fmt.Sprintf("cluster %[1]s, made from the template bed; this command destroys no machines: delete bootstrap/clusters/%[1]s.yaml, commit and push that, and then axle clusters destroy %[1]s --take-over", name)
		if code != 6 || !strings.Contains(errs, want) {
			s.t.Errorf("with the cluster %s: %d %s", name, code, errs)
		}
		s.hasTheBaseline(name)
	}
	if strings.Contains(errs, "is protected") {
		s.t.Errorf("it names the services that the clusters are: %s", errs)
	}
}

// destroys removes the clusters as the refusal says, and then the rest.
func (s *makes) destroys() {
	s.t.Helper()
	s.in("rm", "--quiet", "bootstrap/clusters/dev.yaml", "bootstrap/clusters/prod.yaml")
	s.in("commit", "--quiet", "-m", "no clusters")
	s.in("push", "--quiet")
	s.must("repos", "refresh", "fleet", "--wait")
	for _, name := range []string{"dev", "prod"} {
		s.eventuallyHas("the object waits for the command", func() string {
			return s.try("-n", "axle", "get", "clusterregistrations.axle-cd.github.io", name, "-o", `jsonpath={.metadata.deletionTimestamp} {.status.conditions[?(@.type=="Ready")].message}`)
		}, "axle clusters destroy "+name)
		if _, errs, code := s.axle(s.down("--confirm", "fleet", "--delete-repository")...); code != 6 || !strings.Contains(errs, "axle clusters destroy "+name+" --take-over") {
			s.t.Errorf("before the command: %d %s", code, errs)
		}
		s.must("clusters", "destroy", name, "--take-over", "--yes")
	}
	s.eventually("only mgmt is left", func() string { return s.must("clusters", "list", "-o", "name") }, "mgmt")
	s.must(s.down("--confirm", "fleet", "--delete-repository")...)
	s.isDown()
}

func (s *makes) eventuallyHas(what string, read func() string, want string) {
	s.t.Helper()
	eventually.For(s.t, 3*time.Minute, what, func() error {
		if have := read(); !strings.Contains(have, want) {
			return fmt.Errorf("it is %q", have)
		}
		return nil
	})
}
