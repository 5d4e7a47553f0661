package world_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/world"
)

// takeOverWithin is how soon the repositories of a dead replica have an owner again: 30 s on
// a machine with free processors. hub/peer tests what they consist of, with its own clock.
var takeOverWithin = eventually.Loaded(30 * time.Second)

// settle waits until every named repository is where it should be and its
// follower has a copy.
func settle(s *cdn, repos ...string) map[string]world.Placed {
	s.t.Helper()
	var all map[string]world.Placed
	s.until("every repository is owned and followed, and none has to move", func() (err error) {
		if all, err = s.Replicated.Placements(s.t.Context()); err != nil {
			return err
		}
		for _, name := range repos {
			if err := settled(name, all[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if all[name].FollowedAt == 0 {
				return fmt.Errorf("%s is not followed", name)
			}
		}
		carries := map[string]int{}
		for _, p := range all {
			if carries[p.Owner]++; carries[p.Owner] > 1+(len(all)+len(s.Replicated.Hubs)-1)/len(s.Replicated.Hubs) {
				return fmt.Errorf("%s carries too much", p.Owner)
			}
		}
		return nil
	})
	return all
}

// takenOver waits until a repository is owned by another than was.
func takenOver(s *cdn, repo, was string, since time.Time) string {
	s.t.Helper()
	owner := ""
	s.until(repo+" has another owner", func() error {
		all, err := s.Replicated.Placements(s.t.Context())
		if err != nil {
			return err
		}
		if owner = all[repo].Owner; owner == "" || owner == was {
			return fmt.Errorf("it is with %q", owner)
		}
		return nil
	})
	if took := time.Since(since); took > takeOverWithin {
		s.t.Errorf("%s had no owner for %v", repo, took)
	}
	return owner
}

// refsIn lists the refs of the only mirror of a replica.
func refsIn(hub *world.Replica) (string, error) {
	found, err := filepath.Glob(filepath.Join(hub.DataDir, "cache/mirrors/*.git"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("mirrors of %s: %v, %w", hub.Name, found, err)
	}
	out, err := exec.Command("git", "--git-dir="+found[0], "for-each-ref").Output()
	return string(out), err
}

// A replica that stood still past its lease, with a running fetch that would take longer
// than that, does not fetch besides the one that took over: its guard ends the fetch.
func TestFrozenOwnerNeverFetchesBesideTheNext(t *testing.T) {
	t.Parallel()
	s := newCDN(t, world.Config{Replicas: 3})
	s.simple()
	was := settle(s, "fleet")["fleet"].Owner
	hub := s.Replicated.Named(was)
	s.Git.SetFault("fleet", gitserver.Fault{Only: gitserver.Fetch, BytesPS: 3000})
	s.push("fleet", "app", 2, map[string]gitserver.Content{"app/noise.bin": noise(300 << 10)})
	s.running("fleet")
	s.must(hub.Freeze())
	frozen := time.Now()
	s.Git.SetFault("fleet", gitserver.Fault{}) // for those who come later
	takenOver(s, "fleet", was, frozen)
	s.arrives("edge/app", 2)
	s.must(hub.Thaw())
	s.push("fleet", "app", 3)
	s.arrives("edge/app", 3)
	settle(s, "fleet")
	s.judge()
}

// The owner's machine is lost while the upstream is down: its follower has everything
// that may still be requested, and the upstream is not asked for it again.
func TestOwnersDiskLostDuringOutage(t *testing.T) {
	t.Parallel()
	s := newCDN(t, world.Config{Replicas: 3})
	s.simple()
	// A service that stays at its first revision, of a cluster that comes later.
	late, err := s.api.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "late"}))
	s.must(err)
	s.declare("late", "app", &hubv1.ServiceSpec{Repository: "fleet", Git: &hubv1.Git{Ref: "main", Folder: "app"}})
	for version := 2; version <= 3; version++ {
		s.push("fleet", "app", version)
		s.arrives("edge/app", version)
	}
	_, err = s.api.Services.Rollback(t.Context(), connect.NewRequest(&hubv1.RollbackServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "late", Name: "app"}, Revision: 1}))
	s.must(err)
	s.wants("late/app", 1)
	placed := settle(s, "fleet")["fleet"]
	owner, follower := s.Replicated.Named(placed.Owner), s.Replicated.Named(placed.Follower)
	s.until("the follower has everything", func() error {
		a, errA := refsIn(owner)
		b, errB := refsIn(follower)
		if a != b || errA != nil || errB != nil {
			return fmt.Errorf("%v %v, refs\n%s\n%s", errA, errB, a, b)
		}
		return nil
	})
	s.must(s.Git.Down())
	s.must(owner.Kill())
	killed := time.Now()
	s.must(os.RemoveAll(owner.DataDir))
	if next := takenOver(s, "fleet", owner.Name, killed); next != follower.Name {
		t.Errorf("%s took over, not the follower %s", next, follower.Name)
	}
	agent, err := world.JoinLight(t.Context(), world.LightConfig{URL: s.Origin(), Token: late.Msg.GetBootstrapToken(), Dir: s.Dir})
	s.must(err)
	s.agents["late"] = agent
	s.group.Go(func() { agent.Run(s.polling) })
	s.arrives("late/app", 1)
	s.agent("another")
	s.service("another", "app", "fleet", "app")
	s.arrives("another/app", 3)
	// The machine comes back with an empty disk, the upstream still unavailable.
	s.must(os.MkdirAll(owner.DataDir, 0o700))
	s.must(owner.Start(t.Context()))
	settle(s, "fleet")
	s.must(s.Git.Up(t.Context()))
	s.push("fleet", "app", 4)
	s.arrives("edge/app", 4)
	s.judge()
}

// Replicas are added and removed while agents poll.
func TestReplicasComeAndGo(t *testing.T) {
	t.Parallel()
	s := newCDN(t, world.Config{Replicas: 1})
	repos := []string{"r0", "r1", "r2", "r3", "r4"}
	s.agent("edge")
	for _, name := range repos {
		s.upstream(name)
		s.service("edge", name, name, "app")
		s.arrives("edge/"+name, 1)
	}
	for range 2 {
		_, err := s.Replicated.Add(t.Context())
		s.must(err)
	}
	s.until("the new replicas own something", func() error {
		all, err := s.Replicated.Placements(t.Context())
		if err != nil {
			return err
		}
		owners := map[string]int{}
		for _, p := range all {
			owners[p.Owner]++
		}
		if len(owners) < 2 {
			return fmt.Errorf("%v", owners)
		}
		return nil
	})
	_, err := s.api.Hub.Drain(t.Context(), connect.NewRequest(&hubv1.DrainRequest{Replica: "hub-0"}))
	s.must(err)
	s.until("hub-0 owns nothing", func() error {
		status, err := s.api.Hub.Status(t.Context(), connect.NewRequest(&hubv1.HubStatusRequest{}))
		if err != nil {
			return err
		}
		for _, r := range status.Msg.GetReplicas() {
			if r.GetName() == "hub-0" && (r.GetRepositories() > 0 || !r.GetLeaving()) {
				return fmt.Errorf("it owns %d", r.GetRepositories())
			}
		}
		return nil
	})
	s.must(s.Replicated.Hubs[0].Stop(t.Context()))
	for _, name := range repos {
		s.push(name, "app", 2)
		s.arrives("edge/"+name, 2)
	}
	if err := eventually.Wait(t.Context(), patience, func() error {
		all, err := s.Replicated.Placements(t.Context())
		if err != nil {
			return err
		}
		for name, p := range all {
			if p.Preferred == "hub-0" || p.Owner == "hub-0" {
				return fmt.Errorf("%s: %+v", name, p)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	s.judge()
}
