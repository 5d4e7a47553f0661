package world_test

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/axle-cd/axle/test/world"
)

var _ = add(map[string]scenario{
	"an_older_database_is_put_back": {play: putBack, allow: world.Allowance{Restored: true, Lost: []string{"edge/late"}}},
})

// putBack starts the hub on a copy of its database from before a revision and a whole
// service, as a disk snapshot gives it: nobody ran a restore, and no replica
// remembers. An agent shows the hub's own proof, a new incarnation of the hub begins,
// and everything in the upstream is delivered again.
func putBack(s *cdn) {
	s.simple()
	s.must(s.Hub.Stop(s.t.Context()))
	database := func() []string {
		found, err := filepath.Glob(filepath.Join(s.Hub.DataDir, "hub.db*"))
		s.must(err)
		return found
	}
	old := map[string][]byte{}
	for _, path := range database() {
		text, err := os.ReadFile(path)
		s.must(err)
		old[path] = text
	}
	if len(old) == 0 {
		s.t.Fatal("there is no database to copy")
	}
	s.must(s.Hub.Start(s.t.Context()))
	s.push("fleet", "app", 2)
	s.arrives("edge/app", 2)
	s.service("edge", "late", "fleet", "app")
	s.arrives("edge/late", 2)
	delete(s.from, "edge/late")
	s.polls("edge", 2)
	s.must(s.Hub.Stop(s.t.Context()))
	for _, path := range database() {
		s.must(os.Remove(path))
	}
	for path, text := range old {
		s.must(os.WriteFile(path, text, 0o600))
	}
	s.wait(6 * time.Second) // when upstream was asked last is forgotten too
	s.must(s.Hub.Start(s.t.Context()))
	s.until("a new life of the hub begins", func() error {
		store, err := s.ReadStore(s.t.Context())
		if err == nil && len(store.Incarnations) < 2 {
			err = fmt.Errorf("there is only %v", store.Incarnations)
		}
		return err
	})
	s.push("fleet", "app", 3)
	s.arrives("edge/app", 3)
}
