package cli_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/hubtest"
)

// A service that a backup of a cluster brought back is listed with the words of its agent, and
// leaves by a command, which shows what it waits for.
func TestAServiceThatTheHubDoesNotKnowIsSettled(t *testing.T) {
	s := newPools(t, hubtest.HubConfig{})
	way := "; " + strings.Repeat("it costs money; ", 20) + "kubectl delete clusters.cluster.x-k8s.io old"
	for _, id := range []string{"svc-gone", "svc-kept"} {
		if err := s.hub.ReportOrphan(t.Context(), "plain", id, "service cluster-old of namespace cluster-old-x is "+id+way); err != nil {
			t.Fatal(err)
		}
	}
	s.exits(0, "clusters orphans list plain", "svc-gone", "service cluster-old of namespace cluster-old-x is svc-gone", "…")
	s.exits(0, "clusters orphans list plain -o wide", "svc-gone", way)
	s.exits(0, "clusters get plain", "axle clusters orphans list plain")
	if out := s.exits(0, "clusters orphans list shop-1"); strings.Contains(out, "svc-") {
		t.Errorf("another cluster has %s", out)
	}
	args := append(strings.Fields("__complete clusters orphans remove plain"), "")
	if _, out, errs := s.runs(args...); !strings.Contains(out, "svc-gone\nsvc-kept\n") {
		t.Errorf("%q, %s", out, errs)
	}
	for _, c := range []struct {
		exit       int
		line, says string
	}{
		{2, "clusters orphans remove plain", "ID"},
		{4, "clusters orphans remove plain svc-none", "axle clusters orphans list plain shows those that it has"},
		{4, "clusters orphans keep nowhere svc-gone", "nowhere"},
		{0, "clusters orphans remove plain svc-gone --timeout 0", "is leaving as plain/orphan-gone"},
		{1, "clusters orphans remove plain svc-gone --timeout 1ms", "has not left cluster plain after 1ms"},
		{0, "clusters orphans keep plain svc-kept --timeout 0", "is leaving as plain/orphan-kept"},
		{0, "services get plain/orphan-gone", "orphan-gone"},
	} {
		s.exits(c.exit, c.line, c.says)
	}
	for _, id := range []string{"gone", "kept"} {
		if err := s.hub.ReportLeft(t.Context(), "plain", "orphan-"+id); err != nil {
			t.Fatal(err)
		}
		s.exits(4, "services get plain/orphan-"+id)
	}
}
