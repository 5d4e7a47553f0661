package world_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
)

// TestManagedNamespaceOnACluster follows managed namespaces to a real API server: one
// that exists there keeps what others wrote, and only cascade delete deletes one.
func TestManagedNamespaceOnACluster(t *testing.T) {
	t.Parallel()
	s := newStage(t, "edge-1")
	kubectl := func(args ...string) string {
		s.t.Helper()
		out, err := s.Kubectl(s.t.Context(), "edge-1", args...)
		s.must(err)
		return out.Out
	}
	says := func(what, want string, ask func() string) {
		s.t.Helper()
		eventually.For(s.t, 3*time.Minute, what, func() error {
			if have := ask(); !strings.Contains(have, want) {
				return fmt.Errorf("has %s", have)
			}
			return nil
		})
	}
	ready := func(name, state string) {
		s.t.Helper()
		says(name+" is ready", "1", func() string { return s.axle("namespaces", "get", name, "-o", "jsonpath={."+state+".ready}") })
	}
	kubectl("create", "namespace", "old")
	kubectl("label", "namespace", "old", "owner=others", "team=nobody")
	s.commitFiles("fleet", "what is in the namespace", map[string]string{"base/base.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base}\n"})

	// A namespace that was there keeps the labels of others.
	s.axle("namespaces", "create", "old", "--label", "team=web", "--annotation", `note=a "quoted" {{ text }}`)
	ready("old", "state")
	labels := func() string {
		return kubectl("get", "namespace", "old", "-o", "jsonpath={.metadata.labels.owner}/{.metadata.labels.team}/{.metadata.annotations.note}")
	}
	if have := labels(); have != `others/web/a "quoted" {{ text }}` {
		t.Errorf("the namespace has %s", have)
	}
	kubectl("label", "namespace", "old", "team=moved", "--overwrite")
	s.axle("namespaces", "update", "old", "--label", "tier=base", "--annotation", "note=new")
	says("a label that is not declared any more goes", "others//new", labels)

	// A new one, with a service in it that makes no namespace.
	s.axle("namespaces", "create", "new", "--pull-secret", "registry", "--cascade", "delete", "--repo", "fleet", "--ref", "main", "--folder", "base")
	ready("new", "state")
	ready("new", "serviceState")
	kubectl("get", "configmap", "base", "--namespace", "new")
	if have := kubectl("get", "serviceaccount", "default", "--namespace", "new", "-o", "jsonpath={.imagePullSecrets}"); have != `[{"name":"registry"}]` {
		t.Errorf("the default service account has %s", have)
	}
	if have := kubectl("get", "namespace", "new", "-o", "jsonpath={.metadata.annotations}"); strings.Contains(have, "created-for") {
		t.Errorf("a service made the namespace: %s", have)
	}

	// Without cascade, the namespace stays; with it, it goes.
	s.axle("namespaces", "delete", "old", "new", "--yes")
	eventually.For(t, 3*time.Minute, "both are released", func() error {
		left, phase := s.axle("services", "list", "--quiet"), kubectl("get", "namespace", "new", "-o", "jsonpath={.status.phase}")
		if strings.Contains(left, "old-ns") || phase != "Terminating" {
			return fmt.Errorf("the hub has %s, and the namespace new is %s", left, phase)
		}
		return nil
	})
	if have := kubectl("get", "namespace", "old", "-o", "jsonpath={.status.phase}/{.metadata.labels.owner}"); have != "Active/others" {
		t.Errorf("the namespace that was there is %s", have)
	}
}
