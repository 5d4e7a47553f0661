package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/test/pg"
)

// written writes heads of folders, like a git agent, without notifying the
// fleet.
func (c *crossing) written(content string, folders ...string) {
	c.t.Helper()
	var heads []gitcache.Head
	for _, folder := range folders {
		source, err := c.sources.of(folder)
		if err != nil {
			c.t.Fatal(err)
		}
		heads = append(heads, gitcache.Head{SourceID: source.ID, RepositoryID: c.sources.repository.ID, Revision: "of " + content, Digest: contentDigest(content), Author: "eve"})
	}
	for len(heads) > 0 {
		n := min(500, len(heads))
		if err := c.store.WriteHeads(c.t.Context(), c.sources.repository.ID, c.sources.epoch, heads[:n], nil); err != nil {
			c.t.Fatal(err)
		}
		heads = heads[n:]
	}
}

func (c *crossing) waiting() []string {
	c.t.Helper()
	ids, err := c.store.MovedSources(c.t.Context(), "", 1000)
	if err != nil {
		c.t.Fatal(err)
	}
	return ids
}

// A head that was written but not processed, because the replica was killed in
// between, is processed by the next one.
func TestHeadThatNobodyFollowedUpIsFollowedUpLater(t *testing.T) {
	c := newCrossing(t)
	c.written("one", "web", "shop")
	c.must(c.CreateService(t.Context(), "ann", creation("web", "web")))
	c.written("two", "web")
	if len(c.waiting()) != 2 {
		t.Fatalf("%v wait", c.waiting())
	}
	next := &crossing{&yard{t: t, store: c.store, clock: c.clock, sealer: c.sealer, values: c.values}, c.sources, c.database}
	next.Fleet = next.fleetOf(c.sources)
	if err := next.FollowHeads(t.Context()); err != nil {
		t.Fatal(err)
	}
	next.has("web", "two")
	if ids := next.waiting(); len(ids) != 0 {
		t.Errorf("%v wait still", ids)
	}
	// The same content again, of another commit, is no news.
	c.written("two", "web")
	if ids := next.waiting(); len(ids) != 0 {
		t.Errorf("%v wait for content that all have", ids)
	}
}

// lateSources are overtaken before they first record that all services of a
// head are up to date.
type lateSources struct {
	*storedSources
	before func()
	noted  int
}

func (s *lateSources) Followed(ctx context.Context, ids []string) error {
	if s.noted++; s.noted == 1 {
		s.before()
	}
	return s.storedSources.Followed(ctx, ids)
}

// A transaction that records that all services are up to date has read the head
// before.
func TestHeadThatMovesWhileItIsFollowedUpIsFollowedUpToo(t *testing.T) {
	c := newCrossing(t)
	c.written("one", "web")
	c.must(c.CreateService(t.Context(), "ann", creation("web", "web")))
	c.written("two", "web")
	late := &lateSources{storedSources: c.sources, before: func() { c.written("three", "web") }}
	c.Fleet = c.fleetOf(late)
	if err := c.FollowHeads(t.Context()); err != nil {
		t.Fatal(err)
	}
	if late.noted != 2 {
		t.Errorf("noted %d times that nobody is behind, want a second time for what came meanwhile", late.noted)
	}
	c.has("web", "three")
	if ids := c.waiting(); len(ids) != 0 {
		t.Errorf("%v wait still", ids)
	}
}

// A commit that moves many services, each by a different folder, also needs few
// statements.
func TestCommitOfManyFoldersIsFollowedUpInFewRoundTrips(t *testing.T) {
	const folders, limit = 2000, 300
	c := newCrossing(t)
	var names []string
	for n := range folders {
		names = append(names, fmt.Sprintf("folder-%04d", n))
	}
	err := c.store.Write(t.Context(), func(ctx context.Context) error {
		for _, name := range names {
			source, err := c.sources.of(name)
			if err == nil {
				err = c.store.PutSource(ctx, source)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c.written("one", names...)
	err = c.store.Write(t.Context(), func(ctx context.Context) error {
		for _, name := range names {
			if _, err := c.CreateService(ctx, "ann", creation(name, name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.FollowHeads(t.Context()); err != nil {
		t.Fatal(err)
	}
	d := c.database
	away := pg.Away(t, d.Config.DatabaseURL, 2*time.Millisecond)
	d.Config.DatabaseURL = away.URL
	far := &crossing{&yard{t: t, store: d.Open(t), clock: c.clock, sealer: c.sealer, values: c.values}, &storedSources{repository: c.sources.repository, epoch: c.sources.epoch}, d}
	far.sources.store = far.store
	far.Fleet = far.fleetOf(far.sources)
	far.get("folder-0000") // connected
	trips, began := away.Trips(), time.Now()
	far.written("two", names...)
	if err := far.FollowHeads(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d services by a folder each in %v, %d round trips", folders, time.Since(began), away.Trips()-trips)
	if n := away.Trips() - trips; n > limit {
		t.Errorf("%d folders were followed up in %d round trips, want at most %d", folders, n, limit)
	}
	c.has("folder-0000", "two")
	c.has("folder-1999", "two")
}

// A service's revision is a narrow row, whatever the service is declared as.
func TestRevisionOfACommitIsANarrowRow(t *testing.T) {
	d := storetest.Postgres(t)
	y := newYard(t, d)
	y.cluster("edge-1")
	y.upstream.commit(sourceIDOf("repo_main", "main", "web"), 1)
	wide := spec("web")
	wide.Configuration = map[string]string{"text": strings.Repeat("configuration ", 4000)}
	web := y.must(y.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: wide}))
	y.move(web, 2)
	var bytes int
	if err := d.SQL(t).QueryRowContext(t.Context(), "SELECT max(pg_column_size(r.*)) FROM revisions r").Scan(&bytes); err != nil || bytes > 400 {
		t.Errorf("a revision is a row of %d bytes, want at most 400; %v", bytes, err)
	}
	back, err := y.store.Revision(t.Context(), web.ID, 1)
	if err != nil || back.Spec.Configuration["text"] != wide.Configuration["text"] {
		t.Errorf("the first revision is not what was declared: %v", err)
	}
}

// Many services are one change in the feed, and subscribers get each of them.
func TestManyServicesAreOneChange(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		y.upstream.commit(sourceIDOf("repo_main", "main", "web"), 1)
		web := y.service("edge-1", "web")
		crowd(t, d, web, 99)
		before, err := y.store.LastSequence(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		y.move(web, 2)
		rows, err := y.store.ChangesAfter(t.Context(), before, 100)
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
		if rows, err = y.store.ChangesAfter(t.Context(), before, 1); err != nil || len(rows) != 1 {
			t.Errorf("of services that are gone: %v, %v", rows, err)
		}
	})
}

// Services with several sources, and those that waited for theirs, are also
// written together, each with its own parts.
func TestServicesThatAreLookedAtOneByOneAreWrittenTogether(t *testing.T) {
	const services, limit = 2000, 200
	d := storetest.Postgres(t)
	near := newYard(t, d)
	near.cluster("edge-1")
	shop := near.several()
	d.Copies(t, "services", "id = '"+shop.ID+"'", services-1, map[string]string{"id": storetest.Numbered("svc-"), "name": storetest.Numbered("shop-")})
	d.Copies(t, "revisions", "service_id = '"+shop.ID+"'", services-1, map[string]string{"service_id": storetest.Numbered("svc-")})
	d.Copies(t, "specs", "owner_id = '"+shop.ID+"'", services-1, map[string]string{"owner_id": storetest.Numbered("svc-")})
	d.Copies(t, "service_sources", "service_id = '"+shop.ID+"'", services-1, map[string]string{"service_id": storetest.Numbered("svc-")})
	d.Analyse(t)
	away := pg.Away(t, d.Config.DatabaseURL, 2*time.Millisecond)
	d.Config.DatabaseURL = away.URL
	y := &yard{t: t, store: d.Open(t), clock: near.clock, upstream: near.upstream, sealer: near.sealer}
	y.Fleet = y.newFleet()
	y.get(shop)
	trips, began := away.Trips(), time.Now()
	y.moveTo(rulesSource, 8)
	t.Logf("%d services of three sources in %v, %d round trips", services, time.Since(began), away.Trips()-trips)
	if n := away.Trips() - trips; n > limit {
		t.Errorf("%d services of several sources were moved in %d round trips, want at most %d", services, n, limit)
	}
	for _, name := range []string{"shop", "shop-00001", "shop-01999"} {
		now := y.must(y.Service(t.Context(), fleet.Ref{Cluster: "edge-1", Name: name}))
		if diff := cmp.Diff([]string{"=1", "rules=8", ".helm-chart=3"}, partNames(now.Parts)); diff != "" || now.Revision != 2 {
			t.Errorf("%s is at revision %d (-want +got):\n%s", name, now.Revision, diff)
		}
	}
}

// The author of a revision is a person: for a commit its author, and for what
// waited for its source the person who declared it.
func TestRevisionsNameWhoMadeThem(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		y := newYard(t, d)
		y.cluster("edge-1")
		ref := fleet.Ref{Cluster: "edge-1", Name: "web"}
		web := y.must(y.CreateService(t.Context(), "ann@example.com", fleet.ServiceRequest{Ref: ref, Spec: spec("web")}))
		y.move(web, 1) // its first content
		y.move(web, 2)
		y.must(y.UpdateService(t.Context(), "bob@example.com", ref, spec("later"), nil, false))
		y.moveTo(sourceIDOf("repo_main", "main", "later"), 3)
		y.must(y.RollbackService(t.Context(), "carol@example.com", ref, 2))
		revisions, err := y.Revisions(t.Context(), ref)
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
		y := newYard(t, d)
		y.cluster("edge-1")
		web := y.service("edge-1", "web")
		for n := range 30 {
			y.move(web, n+1)
		}
		old := fmt.Sprint(now.Add(-48 * time.Hour).UnixMicro())
		if _, err := d.SQL(t).ExecContext(t.Context(), "UPDATE contents SET created_at = "+old); err != nil {
			t.Fatal(err)
		}
		if err := y.store.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		var contents, revisions int
		if err := d.SQL(t).QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM contents), (SELECT count(*) FROM revisions)").Scan(&contents, &revisions); err != nil || contents != 20 || revisions != 20 {
			t.Errorf("%d contents of %d revisions are kept, want 20 of 20; %v", contents, revisions, err)
		}
	})
}
