package world_test

import (
	"fmt"
	"time"

	"github.com/axle-cd/axle/test/world"
)

// What happens to Postgres, with one hub on it, and with two.
var _ = add(map[string]scenario{
	"postgres_restarted":                   {play: postgresRestarted, config: world.Config{Replicas: 1}},
	"postgres_away_a_minute":               {play: postgresAway, config: world.Config{Replicas: 2}},
	"postgres_failover_loses_last_seconds": {play: postgresFailover, config: world.Config{Replicas: 2}, allow: world.Allowance{Restored: true, Lost: []string{"edge/late"}}},
})

// postgresRestarted restarts the database again and again while content moves.
func postgresRestarted(s *cdn) {
	s.simple()
	for version := 2; version <= 4; version++ {
		s.push("fleet", "app", version)
		s.must(s.Replicated.Postgres.Restart(s.t.Context()))
		s.arrives("edge/app", version)
	}
}

// postgresAway makes the database unavailable for a minute: agents hold, nothing is
// deleted, and everything continues by itself.
func postgresAway(s *cdn) {
	s.simple()
	s.must(s.Replicated.Postgres.Stop())
	s.push("fleet", "app", 2)
	s.wait(time.Minute)
	if got := s.agents["edge"].Version("app"); got != 1 {
		s.t.Errorf("version %d came without a database: the scenario proves nothing", got)
	}
	s.must(s.Replicated.Postgres.Restart(s.t.Context()))
}

// postgresFailover puts a standby in the place of the database that lacks its
// last seconds: a revision and a whole service. The hubs notice, begin a new
// life, and bring everything that upstream has again.
func postgresFailover(s *cdn) {
	s.simple()
	failover, err := s.Replicated.Postgres.Snapshot(s.t.Context())
	s.must(err)
	s.push("fleet", "app", 2)
	s.arrives("edge/app", 2)
	// head is what the database has for the folder.
	head := func() (string, error) {
		store, err := s.ReadStore(s.t.Context())
		if err != nil || len(store.Heads) != 1 {
			return "", fmt.Errorf("%d heads: %w", len(store.Heads), err)
		}
		return store.Heads[0].Revision, nil
	}
	second, err := head()
	s.must(err)
	s.service("edge", "late", "fleet", "app")
	s.arrives("edge/late", 2)
	delete(s.from, "edge/late")
	s.must(failover(s.t.Context()))
	s.until("a new life of the hub begins", func() error {
		store, err := s.ReadStore(s.t.Context())
		if err == nil && len(store.Incarnations) < 2 {
			err = fmt.Errorf("there is only %v", store.Incarnations)
		}
		return err
	})
	// Nobody pushes meanwhile: a commit would put right what the fail-over took back.
	s.until("the head that was lost is there again", func() error {
		now, err := head()
		if err == nil && now != second {
			err = fmt.Errorf("the head is %s, not %s", now, second)
		}
		return err
	})
	s.push("fleet", "app", 3)
	s.arrives("edge/app", 3)
}
