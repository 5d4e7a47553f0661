package world_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/world"
)

// What happens to one of several replicas.
var _ = add(map[string]scenario{
	"owner_killed_with_replicas":    {play: ownerKilled, config: world.Config{Replicas: 2}},
	"owner_killed_during_handover":  {play: killedDuringHandover, config: world.Config{Replicas: 3}},
	"replica_paused_past_its_lease": {play: pausedPastItsLease, config: world.Config{Replicas: 2}},
	"frozen_feed_tailer":            {play: frozenTailer, config: world.Config{Replicas: 2}},
	"one_clock_off_by_10_min":       {play: clockOff, config: world.Config{Replicas: 2, Build: bin.Options{Tags: []string{"testbed"}}}},
	"network_cut_between_replicas":  {play: networkCut, config: world.Config{Replicas: 2}},
	"rolling_upgrade_moves_nothing": {play: rollingUpgrade, config: world.Config{Replicas: 3}},
})

// owner waits until a repository has an owner, and a follower when there are
// several replicas, and returns the owner.
func (s *cdn) owner(repo string) *world.Replica {
	s.t.Helper()
	return s.Replicated.Named(s.placed(repo).Owner)
}

func (s *cdn) placed(repo string) (p world.Placed) {
	s.t.Helper()
	s.until(repo+" is placed", func() error {
		all, err := s.Replicated.Placements(s.t.Context())
		if err != nil {
			return err
		}
		if p = all[repo]; p.Owner == "" || p.Owner != p.Preferred || p.FollowedAt == 0 {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
	for _, e := range s.Git.Log(repo) {
		if e.Kind == gitserver.Fetch {
			if followed := time.UnixMicro(p.FollowedAt); followed.Before(e.End) {
				s.t.Errorf("%s was followed completely at %s, before the end of its first fetch at %s", repo, followed, e.End)
			}
			break
		}
	}
	return p
}

// ownedByOther waits until another replica owns a repository, and returns it.
func (s *cdn) ownedByOther(repo, than string) (owner string) {
	s.t.Helper()
	s.until(repo+" has another owner than "+than, func() error {
		all, err := s.Replicated.Placements(s.t.Context())
		if err == nil && (all[repo].Owner == "" || all[repo].Owner == than) {
			err = fmt.Errorf("%+v", all[repo])
		}
		owner = all[repo].Owner
		return err
	})
	return owner
}

// settled waits until nothing moved for longer than the rebalancer pauses
// between two moves, and returns the owners.
func (s *cdn) settled(repos []string) map[string]string {
	s.t.Helper()
	owners := map[string]string{}
	since := time.Now()
	s.until("the repositories come to rest", func() error {
		for _, repo := range repos {
			if owner := s.placed(repo).Owner; owner != owners[repo] {
				owners[repo], since = owner, time.Now()
			}
		}
		if rest := time.Since(since); rest < 15*time.Second {
			return fmt.Errorf("nothing moved for %v", rest)
		}
		return nil
	})
	return owners
}

// ownerKilled kills the owner in the middle of a fetch; another takes over from
// its own copy and fetches.
func ownerKilled(s *cdn) {
	s.simple()
	owner := s.owner("fleet")
	s.Git.SetFault("fleet", gitserver.Fault{Only: gitserver.Fetch, Hang: true})
	s.push("fleet", "app", 2)
	s.running("fleet")
	s.must(owner.Kill())
	s.Git.SetFault("fleet", gitserver.Fault{})
	s.arrives("edge/app", 2)
	s.must(owner.Start(s.t.Context()))
	s.push("fleet", "app", 3)
	s.arrives("edge/app", 3)
}

// killedDuringHandover kills an owner that is handing over, since it was asked
// to stop, and then the one that takes over.
func killedDuringHandover(s *cdn) {
	s.simple()
	first := s.owner("fleet")
	s.push("fleet", "app", 2)
	s.must(first.Signal(15))
	s.wait(300 * time.Millisecond)
	s.must(first.Kill())
	second := s.Replicated.Named(s.ownedByOther("fleet", first.Name))
	s.must(second.Kill())
	s.must(first.Start(s.t.Context()))
	s.push("fleet", "app", 3)
	s.arrives("edge/app", 3)
	s.must(second.Start(s.t.Context()))
}

// pausedPastItsLease stops the owner's process for longer than its lease lasts and
// resumes it: it notices that it is no longer the owner.
func pausedPastItsLease(s *cdn) {
	// With a slow first fetch the other replica asks for a copy before there is one.
	s.Git.SetFault("fleet", gitserver.Fault{Only: gitserver.Fetch, Delay: 3 * time.Second})
	s.simple()
	s.Git.SetFault("fleet", gitserver.Fault{})
	owner := s.owner("fleet")
	s.must(owner.Freeze())
	s.closers = append(s.closers, func() { _ = owner.Thaw() })
	s.push("fleet", "app", 2)
	s.ownedByOther("fleet", owner.Name)
	s.arrives("edge/app", 2)
	s.must(owner.Thaw())
	s.push("fleet", "app", 3)
	s.arrives("edge/app", 3)
}

// frozenTailer blocks the connection between one replica and the database, so that it
// learns nothing new, while agents reach both replicas in turn.
func frozenTailer(s *cdn) {
	s.simple()
	owner := s.owner("fleet")
	var other *world.Replica
	for _, hub := range s.Replicated.Hubs {
		if hub.Name != owner.Name {
			other = hub
		}
	}
	other.Database.Hold()
	s.closers = append(s.closers, other.Database.Mend)
	for version := 2; version <= 3; version++ {
		s.push("fleet", "app", version)
		s.arrives("edge/app", version)
		s.polls("edge", 5)
	}
	other.Database.Mend()
	s.push("fleet", "app", 4)
}

// clockOff starts one replica again with a clock that is 10 min ahead, and then
// behind: leases go by the database's clock, so nothing moves to it or from it.
func clockOff(s *cdn) {
	s.simple()
	s.placed("fleet")
	version := 1
	for _, offset := range []string{"10m", "-10m"} {
		for _, hub := range s.Replicated.Hubs[1:] {
			s.must(hub.Kill())
			hub.SetEnv("AXLE_TEST_CLOCK=" + offset)
			s.must(hub.Start(s.t.Context()))
		}
		version++
		s.push("fleet", "app", version)
		s.arrives("edge/app", version)
	}
}

// networkCut lets no replica reach another: agents are served by those that
// can, and with the network back by all.
func networkCut(s *cdn) {
	s.simple()
	s.placed("fleet")
	for _, hub := range s.Replicated.Hubs {
		hub.Peers.Cut()
	}
	s.push("fleet", "app", 2)
	s.arrives("edge/app", 2)
	s.agent("late")
	s.service("late", "app", "fleet", "app")
	s.arrives("late/app", 2)
	for _, hub := range s.Replicated.Hubs {
		hub.Peers.Mend()
	}
	s.push("fleet", "app", 3)
}

// rollingUpgrade stops and starts each of three replicas in turn, in order, as
// an upgrade does: every repository stays with its owner, and no agent is
// refused.
func rollingUpgrade(s *cdn) {
	s.simple()
	repos := []string{"fleet"}
	for i := range 5 {
		name := fmt.Sprintf("repo-%d", i)
		repos = append(repos, name)
		s.upstream(name)
		s.service("edge", name, name, "app")
		s.arrives("edge/"+name, 1)
	}
	before := s.settled(repos)
	for i, hub := range s.Replicated.Hubs {
		s.must(hub.Stop(s.t.Context()))
		s.must(hub.Start(s.t.Context()))
		s.push("fleet", "app", 2+i)
		s.arrives("edge/app", 2+i)
	}
	for _, repo := range repos {
		if after := s.placed(repo).Owner; after != before[repo] {
			s.t.Errorf("%s moved from %s to %s", repo, before[repo], after)
		}
	}
	var errors []string
	for _, step := range s.agents["edge"].Steps() {
		if step.Kind == world.StepError {
			errors = append(errors, step.Error)
		}
	}
	if len(errors) > 0 {
		s.t.Logf("errors at the agent: %s", strings.Join(errors, "; "))
	}
}
