package world_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/test/world"
)

// The owner's mirror is damaged and its tarballs are gone while the upstream is down:
// requests to the owner get the bytes from the follower, never an error, and the
// mirror is repaired from the follower's, without the upstream.
func TestDamagedMirrorOnTheOwnerHealsFromItsFollower(t *testing.T) {
	t.Parallel()
	s := newCDN(t, world.Config{Replicas: 2})
	s.simple()
	late, err := s.api.Clusters.Create(t.Context(), connect.NewRequest(&hubv1.CreateClusterRequest{Name: "late"}))
	s.must(err)
	s.declare("late", "app", &hubv1.ServiceSpec{Repository: "fleet", Git: &hubv1.Git{Ref: "main", Folder: "app"}})
	s.push("fleet", "app", 2)
	s.arrives("edge/app", 2)
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
	mirror := rot(s, owner)
	s.must(os.RemoveAll(filepath.Join(owner.DataDir, "cache/tarballs")))
	s.must(os.MkdirAll(filepath.Join(owner.DataDir, "cache/tarballs/tmp"), 0o755))

	agent, err := world.JoinLight(t.Context(), world.LightConfig{URL: owner.URL, Token: late.Msg.GetBootstrapToken(), Dir: s.Dir})
	s.must(err)
	s.agents["late"] = agent
	s.group.Go(func() { agent.Run(s.polling) })
	s.arrives("late/app", 2)
	s.until("the mirror is whole again", func() error {
		if out, err := exec.Command("git", "--git-dir="+mirror, "fsck", "--full", "--strict").CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		if _, err := os.Stat(mirror + ".damaged"); err == nil {
			return fmt.Errorf("the damaged one is still there")
		}
		return nil
	})
	if now := settle(s, "fleet")["fleet"]; now.Owner != owner.Name {
		t.Errorf("%s is the owner now, so this shows nothing of %s", now.Owner, owner.Name)
	}
	s.must(s.Git.Up(t.Context()))
	s.push("fleet", "app", 3)
	s.arrives("edge/app", 3)
	s.arrives("late/app", 3)
	s.wants("late/app", 3)
	s.judge()
}

// rot overwrites bytes in the packs of the only mirror of a replica.
func rot(s *cdn, hub *world.Replica) (mirror string) {
	s.t.Helper()
	packs, err := filepath.Glob(filepath.Join(hub.DataDir, "cache/mirrors/*.git/objects/pack/*.pack"))
	if err != nil || len(packs) == 0 {
		s.t.Fatalf("packs of %s: %v, %v", hub.Name, packs, err)
	}
	for _, p := range packs {
		raw, err := os.ReadFile(p)
		s.must(err)
		copy(raw[12:], bytes.Repeat([]byte{0x55}, len(raw)-40))
		s.must(os.Chmod(p, 0o600))
		s.must(os.WriteFile(p, raw, 0o600))
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(packs[0])))
}
