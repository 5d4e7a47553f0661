package world_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/world"
)

// What happens to the one hub that owns everything.
var _ = add(map[string]scenario{
	"nothing_happens":                   {play: nothingHappens, allow: world.Allowance{NoErrors: true}},
	"owner_killed_during_fetch":         {play: killedDuringFetch},
	"owner_killed_during_clone":         {play: killedDuringClone, allow: world.Allowance{Clones: map[string]int{"fleet": 1}}},
	"owner_killed_during_tarball_write": {play: killedDuringTarballWrite},
	"corrupted_cache_file":              {play: corruptedCacheFile},
	"machine_frozen_and_resumed":        {play: frozenMachine, allow: world.Allowance{FrozenMachine: true}},
})

// nothingHappens is the run that all others are compared with.
func nothingHappens(s *cdn) {
	s.simple()
	s.agent("mile")
	s.service("mile", "app", "fleet", "app")
	s.service("mile", "gone", "fleet", "app")
	s.arrives("mile/gone", 1)
	for version := 2; version <= 3; version++ {
		s.push("fleet", "app", version)
		s.arrives("edge/app", version)
	}
	s.remove("mile", "gone")
}

// killedDuringFetch kills the hub during a git fetch, twice. The left-over process
// ends by itself, and after the restart the hub fetches no sooner than allowed.
func killedDuringFetch(s *cdn) {
	s.simple()
	for version := 2; version <= 3; version++ {
		s.Git.SetFault("fleet", gitserver.Fault{Only: gitserver.Fetch, Hang: true})
		s.push("fleet", "app", version)
		s.running("fleet")
		s.must(s.Hub.Kill())
		s.Git.SetFault("fleet", gitserver.Fault{})
		s.must(s.Hub.Start(s.t.Context()))
		s.arrives("edge/app", version)
	}
}

// killedDuringClone does the same to the first fetch of all.
func killedDuringClone(s *cdn) {
	s.agent("edge")
	s.Git.SetFault("fleet", gitserver.Fault{Only: gitserver.Fetch, Hang: true})
	s.upstream("fleet")
	s.service("edge", "app", "fleet", "app")
	s.running("fleet")
	s.must(s.Hub.Kill())
	s.Git.SetFault("fleet", gitserver.Fault{})
	s.must(s.Hub.Start(s.t.Context()))
}

// killedDuringTarballWrite kills the hub again and again while it packs a
// folder of some size.
func killedDuringTarballWrite(s *cdn) {
	s.simple()
	big := map[string]gitserver.Content{}
	for i := range 400 {
		big[fmt.Sprintf("app/data/%03d.txt", i)] = strings.Repeat(fmt.Sprintf("%d of a great many lines\n", i), 2000)
	}
	s.push("fleet", "app", 2, big)
	caught := 0
	for range 3 {
		// It is there for some tens of milliseconds.
		s.must(eventually.WaitEvery(s.t.Context(), eventually.Loaded(patience), 2*time.Millisecond, func() error {
			unfinished, err := os.ReadDir(filepath.Join(s.Hub.DataDir, "cache", "tarballs", "tmp"))
			if len(unfinished) > 0 {
				caught++
				return nil
			}
			if s.agents["edge"].Version("app") == 2 {
				return nil // it was too quick for us
			}
			return fmt.Errorf("no tarball is being written: %v", err)
		}))
		s.must(s.Hub.Kill())
		s.must(s.Hub.Start(s.t.Context()))
	}
	if caught == 0 {
		s.t.Error("no tarball was seen half written: the scenario proves nothing")
	}
}

// corruptedCacheFile turns bytes of every stored tarball. Agents that want one
// get the right bytes or none.
func corruptedCacheFile(s *cdn) {
	s.simple()
	s.spoil("tarballs")
	s.agent("late")
	s.service("late", "app", "fleet", "app")
	s.arrives("late/app", 1)
	s.must(s.Hub.Kill())
	s.spoil("tarballs")
	s.must(s.Hub.Start(s.t.Context()))
	s.agent("later")
	s.service("later", "app", "fleet", "app")
	s.arrives("later/app", 1)
	s.push("fleet", "app", 2)
}

// spoil turns bytes in the middle of all files below a folder of the cache.
func (s *cdn) spoil(folder string) {
	s.t.Helper()
	spoilt := 0
	err := filepath.WalkDir(filepath.Join(s.Hub.DataDir, "cache", folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) < 40 {
			return err
		}
		middle := data[len(data)/2:][:8]
		copy(middle, bytes.Repeat([]byte{middle[0] ^ 0x55}, len(middle)))
		if err := os.Chmod(path, 0o600); err != nil {
			return err
		}
		spoilt++
		return os.WriteFile(path, data, 0o600)
	})
	s.must(err)
	if spoilt == 0 {
		s.t.Fatalf("nothing in %s could be spoilt: the scenario proves nothing", folder)
	}
}

// guardTimeout is how long a guard lets git run without its hub.
const guardTimeout = 12 * time.Second

// frozenMachine stops the hub during a fetch for longer than its guard waits, and
// resumes it.
func frozenMachine(s *cdn) {
	s.simple()
	s.Git.SetFault("fleet", gitserver.Fault{Only: gitserver.Fetch, Hang: true})
	s.push("fleet", "app", 2)
	s.running("fleet")
	s.must(s.Hub.Freeze())
	s.wait(guardTimeout + 3*time.Second)
	s.Git.SetFault("fleet", gitserver.Fault{})
	s.must(s.Hub.Thaw())
}
