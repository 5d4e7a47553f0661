package cli_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/hubtest"
)

// reports stores what an agent of the management cluster reports of shop-1.
func (s *shell) reports(state hubtest.MadeState) {
	s.Helper()
	if err := s.hub.ReportMade(s.Context(), "shop-1", state); err != nil {
		s.Fatal(err)
	}
}

// A machine is replaced by its name, and the command shows what it waits for and how it ended.
func TestAMachineIsReplaced(t *testing.T) {
	s := newPools(t, hubtest.HubConfig{})
	const replace = "clusters machines replace shop-1 "
	state := hubtest.MadeState{Phase: "Provisioned", Machines: []hubtest.Machine{{Name: "m-1", UID: "u-1", Pool: "first"}, {Name: "m-2", UID: "u-2", Pool: "first"}, {Name: "cp-1", UID: "u-3"}}}
	s.reports(state)
	for _, c := range []struct {
		exit       int
		line, says string
	}{
		{2, replace, "MACHINE"},
		{4, replace + "m-9", `reported no machine "m-9" of cluster shop-1`},
		{4, "clusters machines replace shop-2 m-1", "shop-2"},
		{1, replace + "cp-1", "is one of the control plane"},
		{1, "clusters machines replace plain m-1", "was not made from a template"},
		{0, replace + "m-1 --dry-run", "dry run, nothing stored"},
		{0, replace + "m-1 --dry-run -o json", `"uid": "u-1"`},
		{0, replace + "m-1 --timeout 0", "Replacing"},
		{0, replace + "m-1 --timeout 0", "Replacing"}, // again
	} {
		s.exits(c.exit, c.line, c.says)
	}
	if n := strings.Count(s.exits(0, "clusters get shop-1 -o jsonpath={.origin.replacements[*].machine}"), "m-"); n != 1 {
		t.Errorf("%d machines are being replaced", n)
	}
	args := append(strings.Fields("__complete clusters machines replace shop-1"), "")
	if _, out, errs := s.runs(args...); !strings.Contains(out, "m-1\nm-2\n") || strings.Contains(out, "cp-1") {
		t.Errorf("%q, %s", out, errs)
	}

	state.Replaced = []hubtest.Replaced{{UID: "u-1", Message: "Pod web/front: cannot evict"}}
	s.reports(state)
	s.exits(0, "clusters get shop-1", "m-1 of pool first, since", "cannot evict")
	s.exits(1, replace+"m-1 --timeout 1ms", "is still being replaced after 1ms: Pod web/front: cannot evict")

	state.Machines, state.Replaced = state.Machines[1:], []hubtest.Replaced{{UID: "u-1", Done: true}}
	s.reports(state)
	s.exits(4, replace+"m-1", "reported no machine")
	s.exits(0, "clusters get shop-1 -o jsonpath={.origin.replacements[0].endedAt}")

	s.exits(0, replace+"m-2 --timeout 0")
	state.Replaced = []hubtest.Replaced{{UID: "u-2", Refused: true, Message: "no MachineSet"}}
	s.reports(state)
	s.exits(0, replace+"m-2 --timeout 0", "Replacing") // it may be asked again

	s.exits(0, "serviceaccounts create ci")
	s.exits(0, "auth bind --action read --service-account ci --project shop")
	t.Setenv("AXLE_TOKEN", strings.TrimSpace(s.exits(0, "serviceaccounts token ci")))
	for _, dry := range []string{" --timeout 0", " --dry-run"} {
		s.exits(5, replace+"m-2"+dry)
	}
}

// Clusters of one name that two hubs make on one management cluster have services and
// namespaces of their own there, so neither hub writes, reads or drains those of the other.
func TestTwoHubsKeepClustersOfOneNameApart(t *testing.T) {
	places := map[string]bool{}
	for range 2 {
		s := newPools(t, hubtest.HubConfig{})
		for _, field := range []string{"service", "namespace"} {
			place := field + " " + strings.TrimSpace(s.exits(0, "clusters get shop-1 -o jsonpath={.origin."+field+"}"))
			if places[place] || !strings.Contains(place, " cluster-shop-1-") {
				t.Errorf("both hubs have the %s", place)
			}
			places[place] = true
		}
	}
}
