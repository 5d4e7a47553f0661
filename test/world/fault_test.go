package world_test

import (
	"testing"
)

func TestCaptivePortalHoldsEverything(t *testing.T) {
	t.Parallel()
	s := newStage(t, "edge")
	s.deploy("edge", "app", "app")
	before, err := s.get("edge", "app", "one")
	s.must(err)
	s.proxy.Portal(true)
	s.polls(5)
	// The agent continues with what it has: it heals, also after its restart.
	s.must(s.agents["edge"].Kill())
	s.must(s.agents["edge"].Start())
	s.same("edge", "app", "one", before.Metadata.UID)
	if _, err := s.Kubectl(t.Context(), "edge", "delete", "configmap", "two", "-n", "app"); err != nil {
		t.Fatal(err)
	}
	s.sayTwo("edge")
	s.proxy.Portal(false)
	s.commit("app", "after")
	s.says("edge", "app", "after")
	s.same("edge", "app", "one", before.Metadata.UID)
}

// sayTwo waits until the second object is there again.
func (s *stage) sayTwo(cluster string) {
	s.t.Helper()
	s.eventual("the second object is back", func() error {
		_, err := s.get(cluster, "app", "two")
		return err
	})
}

func TestRevokedAgentHoldsEverything(t *testing.T) {
	t.Parallel()
	s := newStage(t, "edge")
	s.deploy("edge", "app", "app")
	before, err := s.get("edge", "app", "one")
	s.must(err)
	s.axle("clusters", "delete", "edge", "--detach")
	s.polls(5)
	s.same("edge", "app", "one", before.Metadata.UID)
	if s.agents["edge"].Ended() {
		t.Error("the agent gave up; it must wait for a person")
	}
}

func TestOwnedByAnotherServiceIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, "edge")
	s.deploy("edge", "app", "app")
	before, err := s.get("edge", "app", "one")
	s.must(err)
	s.axle("services", "create", "edge/thief", "--repo", "fleet", "--ref", "main", "--folder", "app", "--namespace", "app")
	s.state("edge", "thief", "Failed", "belongs to service")
	s.same("edge", "app", "one", before.Metadata.UID)
	s.axle("services", "delete", "edge/thief", "--timeout", "5m")
	s.same("edge", "app", "one", before.Metadata.UID)
	s.axle("services", "wait", "edge/app")
}

func TestAPIServerAwayHeals(t *testing.T) {
	t.Parallel()
	s := newStage(t, "edge")
	s.deploy("edge", "app", "app")
	before, err := s.get("edge", "app", "one")
	s.must(err)
	s.Cluster("edge").Stop()
	s.commit("app", "2")
	s.state("edge", "app", "Failed")
	s.must(s.Cluster("edge").Restart(t.Context()))
	s.says("edge", "app", "2")
	s.axle("services", "wait", "edge/app", "--timeout", "5m")
	s.same("edge", "app", "one", before.Metadata.UID)
}
