package world_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/world"
)

// fleet is three replicas, or more, and repositories that they share.
type fleet struct {
	*world.World
	t     *testing.T
	repos []string
}

func newFleet(t *testing.T, replicas, repos int, flags ...string) *fleet {
	t.Helper()
	return newFleetWith(t, world.Config{Replicas: replicas, Hub: append([]string{"--repo-poll-interval", "2s"}, flags...), Only: []string{"axle"}}, repos)
}

func newFleetWith(t *testing.T, c world.Config, repos int) *fleet {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	w, err := world.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{World: w, t: t}
	t.Cleanup(func() {
		if t.Failed() {
			f.showLogs()
		}
		if err := w.Close(); err != nil {
			t.Logf("end of the world: %v", err)
		}
	})
	f.must(w.Login(ctx))
	for i := range repos {
		name := fmt.Sprintf("r%d", i)
		f.repos = append(f.repos, name)
		f.must(w.Git.Create(ctx, name))
		f.commit(name, "1")
		f.axle("repos", "add", name, w.Git.URL(name))
	}
	return f
}

func (f *fleet) showLogs() {
	for _, hub := range f.Replicated.Hubs {
		if data, err := os.ReadFile(hub.Log); err == nil {
			f.t.Logf("end of the log of %s:\n%s", hub.Name, data[max(0, len(data)-5000):])
		}
	}
}

func (f *fleet) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) axle(args ...string) string {
	f.t.Helper()
	result, err := f.Axle(f.t.Context(), args...)
	f.must(err)
	return result.Out
}

func (f *fleet) commit(repo, word string) string {
	f.t.Helper()
	id, err := f.Git.Commit(f.t.Context(), repo, "main", "say "+word, map[string]gitserver.Content{"app/one.yaml": object("one", word)})
	f.must(err)
	return id
}

// placed waits until every repository is as wanted.
func (f *fleet) placed(limit time.Duration, what string, want func(name string, p world.Placed) error) map[string]world.Placed {
	f.t.Helper()
	var all map[string]world.Placed
	eventually.For(f.t, limit, what, func() (err error) {
		if all, err = f.Replicated.Placements(f.t.Context()); err != nil {
			return err
		}
		for _, name := range f.repos {
			if err := want(name, all[name]); err != nil {
				return fmt.Errorf("%s: %w; all: %v", name, err, all)
			}
		}
		return nil
	})
	return all
}

// settled is an owned repository with a follower that has all of it.
func settled(_ string, p world.Placed) error {
	if p.Owner == "" || p.Owner != p.Preferred || p.Follower == "" || p.Follower == p.Owner {
		return fmt.Errorf("not settled: %+v", p)
	}
	return nil
}

func TestThreeReplicasShareRepositories(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, 6)
	all := f.placed(within, "every repository has an owner", settled)
	owners := map[string]int{}
	for _, p := range all {
		owners[p.Owner]++
	}
	if len(owners) < 2 {
		t.Errorf("all repositories are on one replica: %v", owners)
	}
	// Whichever replica is asked, the owner fetches.
	for range f.Replicated.Hubs {
		for _, name := range f.repos[:2] {
			f.commit(name, "again")
			f.axle("repos", "refresh", name, "--wait")
		}
	}
	victim := all[f.repos[0]].Owner
	killed := time.Now()
	f.must(f.Replicated.Named(victim).Kill())
	f.placed(within, "what the killed replica owned has another owner", func(_ string, p world.Placed) error {
		if p.Owner == "" || p.Owner == victim {
			return fmt.Errorf("owner %q", p.Owner)
		}
		return nil
	})
	if took := time.Since(killed); took > takeOverWithin {
		t.Errorf("it took %v", took)
	}
	f.noOverlap()
}

// noOverlap holds that fetches of a repository began at least 5 s apart and
// were never two at a time, by the Git server's own log.
func (f *fleet) noOverlap() {
	f.t.Helper()
	for _, name := range f.repos {
		if err := f.Git.CheckSpacing(name, 5*time.Second, gitserver.Fetch); err != nil {
			f.t.Errorf("%s: %v", name, err)
		}
	}
}
