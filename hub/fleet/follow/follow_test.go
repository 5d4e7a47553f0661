package follow_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/test/pg"
)

// A head that was written but not processed, because the replica was killed in
// between, is processed by the next one.
func TestHeadThatNobodyFollowedUpIsFollowedUpLater(t *testing.T) {
	c := fleettest.NewContended(t)
	c.WriteHeads("one", "web", "shop")
	c.Must(c.CreateService(t.Context(), "ann", fleettest.Creation("web", "web")))
	c.WriteHeads("two", "web")
	if len(c.Waiting()) != 2 {
		t.Fatalf("%v wait", c.Waiting())
	}
	next := c.Replica(c.Database)
	if err := next.FollowHeads(t.Context()); err != nil {
		t.Fatal(err)
	}
	next.WantContent("web", "two")
	if ids := next.Waiting(); len(ids) != 0 {
		t.Errorf("%v wait still", ids)
	}
	// The same content again, of another commit, is no news.
	c.WriteHeads("two", "web")
	if ids := next.Waiting(); len(ids) != 0 {
		t.Errorf("%v wait for content that all have", ids)
	}
}

// lateSources are overtaken before they first record that all services of a
// head are up to date.
type lateSources struct {
	*fleettest.Stored
	before func()
	noted  int
}

func (s *lateSources) Followed(ctx context.Context, ids []string) error {
	if s.noted++; s.noted == 1 {
		s.before()
	}
	return s.Stored.Followed(ctx, ids)
}

// A transaction that records that all services are up to date has read the head
// before.
func TestHeadThatMovesWhileItIsFollowedUpIsFollowedUpToo(t *testing.T) {
	c := fleettest.NewContended(t)
	c.WriteHeads("one", "web")
	c.Must(c.CreateService(t.Context(), "ann", fleettest.Creation("web", "web")))
	c.WriteHeads("two", "web")
	late := &lateSources{Stored: c.Sources, before: func() { c.WriteHeads("three", "web") }}
	c.Use(late)
	if err := c.FollowHeads(t.Context()); err != nil {
		t.Fatal(err)
	}
	if late.noted != 2 {
		t.Errorf("noted %d times that nobody is behind, want a second time for what came meanwhile", late.noted)
	}
	c.WantContent("web", "three")
	if ids := c.Waiting(); len(ids) != 0 {
		t.Errorf("%v wait still", ids)
	}
}

// A commit that moves many services, each by a different folder, also needs few
// statements.
func TestCommitOfManyFoldersIsFollowedUpInFewRoundTrips(t *testing.T) {
	const folders, limit = 2000, 300
	c := fleettest.NewContended(t)
	var names []string
	for n := range folders {
		names = append(names, fmt.Sprintf("folder-%04d", n))
	}
	err := c.Store.Write(t.Context(), func(ctx context.Context) error {
		for _, name := range names {
			if _, err := c.Sources.Follow(ctx, fleet.SourceWant{Folder: name}, c.Sources.Repository()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c.WriteHeads("one", names...)
	// A transaction may take 30 s, also under the race detector on a slow machine.
	for some := range slices.Chunk(names, 200) {
		err := c.Store.Write(t.Context(), func(ctx context.Context) error {
			for _, name := range some {
				if _, err := c.CreateService(ctx, "ann", fleettest.Creation(name, name)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.FollowHeads(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := c.Database
	away := pg.Away(t, d.Config.DatabaseURL, 2*time.Millisecond)
	d.Config.DatabaseURL = away.URL
	far := c.Replica(d)
	far.Find("folder-0000") // connected
	trips, began := away.Trips(), time.Now()
	far.WriteHeads("two", names...)
	if err := far.FollowHeads(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d services by a folder each in %v, %d round trips", folders, time.Since(began), away.Trips()-trips)
	if n := away.Trips() - trips; n > limit {
		t.Errorf("%d folders were followed up in %d round trips, want at most %d", folders, n, limit)
	}
	c.WantContent("folder-0000", "two")
	c.WantContent("folder-1999", "two")
}

// A service's revision is a narrow row, whatever the service is declared as.
func TestRevisionOfACommitIsANarrowRow(t *testing.T) {
	d := storetest.Postgres(t)
	env := fleettest.New(t, d)
	env.AddCluster("edge-1")
	env.Upstream.Commit(fleettest.SourceID("repo_main", "main", "web"), 1)
	wide := fleettest.Spec("web")
	wide.Configuration = map[string]string{"text": strings.Repeat("configuration ", 4000)}
	web := env.Must(env.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: wide}))
	env.Move(web, 2)
	var bytes int
	if err := d.SQL(t).QueryRowContext(t.Context(), "SELECT max(pg_column_size(r.*)) FROM revisions r").Scan(&bytes); err != nil || bytes > 400 {
		t.Errorf("a revision is a row of %d bytes, want at most 400; %v", bytes, err)
	}
	back, err := env.Store.Revision(t.Context(), web.ID, 1)
	if err != nil || back.Spec.Configuration["text"] != wide.Configuration["text"] {
		t.Errorf("the first revision is not what was declared: %v", err)
	}
}

// Many services are one change in the feed, and subscribers get each of them.
func TestManyServicesAreOneChange(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		env.Upstream.Commit(fleettest.SourceID("repo_main", "main", "web"), 1)
		web := env.AddService("edge-1", "web")
		env.Crowd(web, 99)
		before, err := env.Store.LastSequence(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		env.Move(web, 2)
		rows, err := env.Store.ChangesAfter(t.Context(), before, 100)
		if err != nil {
			t.Fatal(err)
		}
		told, sets := map[string]bool{}, 0
		for _, r := range rows {
			if r.Kind == event.KindFollowers {
				sets++
			}
			if r.Kind == event.KindService && r.Cluster == web.ClusterID {
				told[r.Key] = true
			}
		}
		if len(told) != 100 || !told[web.ID] || sets != 1 || rows[len(rows)-1].Sequence != before+1 {
			t.Errorf("%d services were told of by %d changes up to %d, want 100 by one at %d", len(told), sets, rows[len(rows)-1].Sequence, before+1)
		}
		var kept string
		if err := d.SQL(t).QueryRowContext(t.Context(), "SELECT changes FROM outbox WHERE sequence = $1", before+1).Scan(&kept); err != nil || len(kept) > 200 {
			t.Errorf("the feed keeps %d bytes of it, %v", len(kept), err)
		}
		// All of them went: the change stays, so that its place is reached.
		if _, err := d.SQL(t).ExecContext(t.Context(), "DELETE FROM services"); err != nil {
			t.Fatal(err)
		}
		if rows, err = env.Store.ChangesAfter(t.Context(), before, 1); err != nil || len(rows) != 1 {
			t.Errorf("of services that are gone: %v, %v", rows, err)
		}
	})
}

// Services with several sources, and those that waited for theirs, are also
// written together, each with its own parts.
func TestServicesThatAreLookedAtOneByOneAreWrittenTogether(t *testing.T) {
	const services, limit = 2000, 200
	d := storetest.Postgres(t)
	near := fleettest.New(t, d)
	near.AddCluster("edge-1")
	shop := near.AddSeveral()
	d.Copies(t, "services", "id = '"+shop.ID+"'", services-1, map[string]string{"id": storetest.Numbered("svc-"), "name": storetest.Numbered("shop-")})
	d.Copies(t, "revisions", "service_id = '"+shop.ID+"'", services-1, map[string]string{"service_id": storetest.Numbered("svc-")})
	d.Copies(t, "specs", "owner_id = '"+shop.ID+"'", services-1, map[string]string{"owner_id": storetest.Numbered("svc-")})
	d.Copies(t, "service_sources", "service_id = '"+shop.ID+"'", services-1, map[string]string{"service_id": storetest.Numbered("svc-")})
	d.Analyse(t)
	away := pg.Away(t, d.Config.DatabaseURL, 2*time.Millisecond)
	d.Config.DatabaseURL = away.URL
	env := near.Replica(d)
	env.Get(shop)
	trips, began := away.Trips(), time.Now()
	env.MoveTo(fleettest.RulesSource, 8)
	t.Logf("%d services of three sources in %v, %d round trips", services, time.Since(began), away.Trips()-trips)
	if n := away.Trips() - trips; n > limit {
		t.Errorf("%d services of several sources were moved in %d round trips, want at most %d", services, n, limit)
	}
	for _, name := range []string{"shop", "shop-00001", "shop-01999"} {
		now := env.Must(env.Service(t.Context(), fleet.Ref{Cluster: "edge-1", Name: name}))
		if diff := cmp.Diff([]string{"=1", "rules=8", ".helm-chart=3"}, fleettest.PartNames(now.Parts)); diff != "" || now.Revision != 2 {
			t.Errorf("%s is at revision %d (-want +got):\n%s", name, now.Revision, diff)
		}
	}
}

// The author of a revision is a person: for a commit its author, and for what
// waited for its source the person who declared it.
func TestRevisionsNameWhoMadeThem(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		ref := fleet.Ref{Cluster: "edge-1", Name: "web"}
		web := env.Must(env.CreateService(t.Context(), "ann@example.com", fleet.ServiceRequest{Ref: ref, Spec: fleettest.Spec("web")}))
		env.Move(web, 1) // its first content
		env.Move(web, 2)
		env.Must(env.UpdateService(t.Context(), "bob@example.com", ref, fleettest.Spec("later"), nil, false))
		env.MoveTo(fleettest.SourceID("repo_main", "main", "later"), 3)
		env.Must(env.RollbackService(t.Context(), "carol@example.com", ref, 2))
		revisions, err := env.Revisions(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range revisions {
			got = append(got, fmt.Sprintf("%d %s %s", r.Number, r.Cause, r.By))
		}
		want := []string{"4 rollback carol@example.com", "3 update bob@example.com", "2 commit eve", "1 create ann@example.com"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("revisions (-want +got):\n%s", diff)
		}
	})
}

// What no revision names any more goes, some at a time; what one names stays.
func TestContentGoesWithItsLastRevision(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		now := time.Now()
		env := fleettest.New(t, d)
		env.AddCluster("edge-1")
		web := env.AddService("edge-1", "web")
		for n := range 30 {
			env.Move(web, n+1)
		}
		old := fmt.Sprint(now.Add(-48 * time.Hour).UnixMicro())
		if _, err := d.SQL(t).ExecContext(t.Context(), "UPDATE contents SET created_at = "+old); err != nil {
			t.Fatal(err)
		}
		if err := env.Store.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		var contents, revisions int
		if err := d.SQL(t).QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM contents), (SELECT count(*) FROM revisions)").Scan(&contents, &revisions); err != nil || contents != 20 || revisions != 20 {
			t.Errorf("%d contents of %d revisions are kept, want 20 of 20; %v", contents, revisions, err)
		}
	})
}
