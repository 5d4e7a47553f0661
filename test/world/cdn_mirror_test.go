package world_test

import (
	"os"
	"path/filepath"

	"github.com/axle-cd/axle/test/world"
)

// What happens to mirrors.
var _ = add(map[string]scenario{
	// The fetch that finds the damage has nothing to build on, nor has the one
	// that makes it good.
	"corrupted_mirror": {play: corruptedMirror, allow: world.Allowance{Clones: map[string]int{"fleet": 2}}},
})

// corruptedMirror damages the packs of the mirror and deletes the tarballs, so that
// only the upstream can help.
func corruptedMirror(s *cdn) {
	s.simple()
	s.must(s.Hub.Kill())
	s.spoil("mirrors")
	s.must(os.RemoveAll(filepath.Join(s.Hub.DataDir, "cache", "tarballs")))
	s.must(s.Hub.Start(s.t.Context()))
	s.push("fleet", "app", 2)
	s.arrives("edge/app", 2)
	s.agent("late")
	s.service("late", "app", "fleet", "app")
}
