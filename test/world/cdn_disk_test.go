package world_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/world"
)

// What happens to disks and databases of one hub.
var _ = add(map[string]scenario{
	"disk_full":                      {play: diskFull},
	"restore_from_yesterdays_backup": {play: restored, allow: world.Allowance{Restored: true, Lost: []string{"edge/extra"}}},
})

// diskFull gives the cache a disk of 12 MB and pushes more than that. Existing
// content is still served; with a larger disk the rest arrives by itself.
func diskFull(s *cdn) {
	cache := filepath.Join(s.Hub.DataDir, "cache")
	s.must(s.Hub.Stop(s.t.Context()))
	s.must(os.MkdirAll(cache, 0o755))
	if err := syscall.Mount("tmpfs", cache, "tmpfs", 0, "size=12m"); err != nil {
		s.t.Fatalf("a small disk could not be mounted on %s; run the tests as root, such as by sudo -E go test: %v", cache, err)
	}
	s.closers = append(s.closers, func() { _ = syscall.Unmount(cache, syscall.MNT_DETACH) })
	s.must(s.Hub.Start(s.t.Context()))
	s.simple()
	s.push("fleet", "app", 2, map[string]gitserver.Content{"app/noise.bin": noise(20 << 20)})
	s.fails("fleet")
	s.agent("late")
	s.service("late", "app", "fleet", "app")
	s.arrives("late/app", 1)
	s.polls("edge", 3)
	if got := s.agents["edge"].Version("app"); got != 1 {
		s.t.Errorf("version %d came over a full disk: the scenario proves nothing", got)
	}
	s.must(syscall.Mount("tmpfs", cache, "tmpfs", syscall.MS_REMOUNT, "size=200m"))
	s.arrives("edge/app", 2)
	s.heals("fleet")
}

// noise is a file that compresses to no less than itself.
func noise(n int) gitserver.Content {
	bytes := make([]byte, n)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range bytes {
		bytes[i] = byte(random.Uint32()) | 1
	}
	return string(bytes)
}

// restored sets the database back to before a service was created and another
// deleted. Agents delete nothing, and after one confirmation by a person everything
// is correct.
func restored(s *cdn) {
	s.simple()
	s.service("edge", "gone", "fleet", "app")
	s.arrives("edge/gone", 1)
	backup := filepath.Join(s.Dir, "backup")
	_, err := s.Hub.Run(s.t.Context(), "backup", backup)
	s.must(err)
	s.service("edge", "extra", "fleet", "app")
	s.arrives("edge/extra", 1)
	s.push("fleet", "app", 2)
	s.arrives("edge/app", 2)
	s.arrives("edge/extra", 2)
	s.remove("edge", "gone")
	delete(s.from, "edge/extra")
	s.must(s.Hub.Stop(s.t.Context()))
	_, err = s.Hub.Run(s.t.Context(), "restore", backup)
	s.must(err)
	s.must(s.Hub.Start(s.t.Context()))
	s.until("the agent holds what the restored hub does not know", func() error {
		for _, step := range s.agents["edge"].Steps() {
			if step.Kind == world.StepHeld && step.Service == "extra" {
				return nil
			}
		}
		return fmt.Errorf("it does not")
	})
	s.push("fleet", "app", 3)
	s.arrives("edge/app", 3)
	s.polls("edge", 4)
	s.run.Confirmed = time.Now()
	s.human("confirm-restore", func() error {
		_, err := s.api.Hub.ConfirmRestore(s.t.Context(), connect.NewRequest(&hubv1.ConfirmRestoreRequest{}))
		return err
	})
	s.arrives("edge/gone", 3)
	s.push("fleet", "app", 4)
	// A tombstone works again.
	s.service("edge", "brief", "fleet", "app")
	s.arrives("edge/brief", 4)
	s.remove("edge", "brief")
}

// human is what a person has to do.
func (s *cdn) human(what string, do func() error) {
	s.t.Helper()
	s.run.Human = append(s.run.Human, what)
	s.must(do())
}
