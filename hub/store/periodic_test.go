package store_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/config"
	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/fanout"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/fleet/fleettest"
	"github.com/axle-cd/axle/hub/fleet/globals"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/store/storetest"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// fleetTables grow with the fleet. What is done now and then, and each poll and
// report, looks at rows of them that it names, at what changed, or at a bounded
// number.
//
// Repositories and their leases are not among them: each replica decides by
// all of them which it should fetch, and keeps that in memory.
var fleetTables = []string{
	"agent_keys", "artifact_parts", "artifacts", "clusters", "config_documents", "config_uses", "config_values", "content_parts",
	"contents", "diffs", "events", "heads", "outbox", "revisions", "rollout_targets", "service_sources", "services", "sources",
	"spec_documents", "specs", "status_sums", "statuses", "superseded", "test_runs", "tokens",
}

// narrow are indexes of some rows of such a table, of which there are few
// however large the fleet is.
var narrow = []string{
	"tokens_by_maker", // tokens that end with another one: no agent's does
	"tokens_ending",   // those of people and service accounts
}

const (
	// fleetSize is how many rows the tables have, and mostRead how many of
	// them one turn may read: more than any page, and far fewer than all.
	fleetSize = 20_000
	// liteSize is fleetSize for SQLite, of which only the plans are checked: the
	// race detector makes it many times slower.
	liteSize = 2_000
	mostRead = 6_000
)

// periodic is a task that runs at intervals, by the file that has the timer or
// receives the call.
type periodic struct {
	file string
	run  func(env *fleettest.Fleet, c *crowded) error
}

// crowded is a fleet of fleetSize.
type crowded struct {
	cluster fleet.Cluster
	web     fleet.ServiceView
	engine  *fanout.Engine
	epoch   int64
	source  gitcache.Source
	commits int
}

func (c *crowded) head(digest digest.Digest) []gitcache.Head {
	return []gitcache.Head{{SourceID: c.source.ID, RepositoryID: "repo_main", Revision: "r", Digest: digest}}
}

var holder = gitcache.Holder{Replica: "hub-0", Boot: "1"}

// in is a step of a transaction that changes something.
func in(fn func(ctx context.Context, env *fleettest.Fleet, c *crowded) error) func(env *fleettest.Fleet, c *crowded) error {
	return func(env *fleettest.Fleet, c *crowded) error {
		return env.Store.Write(env.T.Context(), func(ctx context.Context) error { return fn(ctx, env, c) })
	}
}

// all runs some one after the other.
func all(steps ...func(env *fleettest.Fleet, c *crowded) error) func(env *fleettest.Fleet, c *crowded) error {
	return func(env *fleettest.Fleet, c *crowded) error {
		for i, step := range steps {
			if err := step(env, c); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
		return nil
	}
}

// read is a step whose result is not needed.
func read[T any](fn func(ctx context.Context, env *fleettest.Fleet, c *crowded) (T, error)) func(env *fleettest.Fleet, c *crowded) error {
	return func(env *fleettest.Fleet, c *crowded) error {
		_, err := fn(env.T.Context(), env, c)
		return err
	}
}

var periodics = map[string]periodic{
	"the feed is looked at": {"event/feed.go", all(
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			return env.Store.Incarnation(ctx)
		}),
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			last, err := env.Store.LastSequence(ctx)
			if err != nil {
				return nil, err
			}
			return env.Store.ChangesAfter(ctx, last-1, 500)
		}),
	)},
	"a report": {"store/sqldb/batch.go", func(env *fleettest.Fleet, c *crowded) error {
		c.commits++
		env.Report(fleet.ReportBatch{ClusterID: c.cluster.ID, Reports: []fleet.Report{fleettest.ReportOf(c.web, "", fmt.Sprint("h", c.commits))}})
		return nil
	}},
	"a ping": {"store/sqldb/batch.go", func(env *fleettest.Fleet, c *crowded) error {
		return env.Ping(env.T.Context(), c.cluster.ID, fleet.ClusterPing{AgentVersion: "0.1.0"})
	}},
	"a drained tombstone": {"store/sqldb/batch.go", func(env *fleettest.Fleet, c *crowded) error {
		_, err := env.StoreReports(env.T.Context(), fleet.ReportBatch{ClusterID: c.cluster.ID, Drained: []string{"tmb_none"}})
		return err
	}},
	"specs are asked for": {"store/sqldb/batch.go", read(func(ctx context.Context, env *fleettest.Fleet, c *crowded) (any, error) {
		specs, _, err := env.AgentSpecs(ctx, c.cluster.ID, []string{c.web.ID})
		return specs, err
	})},
	"heads and limits are followed up": {"heads.go", all(
		func(env *fleettest.Fleet, _ *crowded) error { return env.SettleLimits(env.T.Context()) },
		func(env *fleettest.Fleet, _ *crowded) error { return env.FollowHeads(env.T.Context()) },
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			return env.Store.MovedSources(ctx, "", 500)
		}),
	)},
	"old rows are dropped": {"store/retention.go", func(env *fleettest.Fleet, _ *crowded) error { return env.Store.Prune(env.T.Context()) }},
	"values are followed up": {"config/follow.go", all(
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			return env.Store.UntoldValueSets(ctx)
		}),
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			return env.Store.UsedNames(ctx, fleet.UseReference)
		}),
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			unused, _, err := env.Store.UnusedDocuments(ctx, "", 1, 500)
			return unused, err
		}),
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			return env.Store.Setting(ctx, "config_move")
		}),
	)},
	"rollouts of global services, of which none runs": {"fleet/globals/rollout.go", func(env *fleettest.Fleet, _ *crowded) error {
		rollouts := globals.NewRollouts(env.Global(env.Store), func(string, int64) fleet.Freshness { return fleet.Fresh })
		_, err := rollouts.Turn(env.T.Context())
		return err
	}},
	"a rollout that is done": {"fanout/engine.go", func(env *fleettest.Fleet, c *crowded) error {
		_, err := c.engine.Step(env.T.Context())
		if err == nil {
			err = c.engine.Apply(env.T.Context(), []event.Row{{Change: event.Change{Kind: event.KindReport, Cluster: c.cluster.ID}}})
		}
		if err == nil {
			_, err = c.engine.Step(env.T.Context())
		}
		return err
	}},
	"a diff and test runs": {"store/sqldb/batch.go", all(
		func(env *fleettest.Fleet, c *crowded) error {
			return env.StoreDiff(env.T.Context(), c.cluster.ID, fleet.Diff{ServiceID: c.web.ID})
		},
		func(env *fleettest.Fleet, c *crowded) error {
			return env.StoreTestRuns(env.T.Context(), c.cluster.ID, []fleet.TestRun{{ServiceID: c.web.ID, Key: "k", State: "Passed"}})
		},
	)},
	"events are told to sinks": {"notify/notify.go", all(
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) { return env.Store.Sinks(ctx) }),
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			return env.Store.Routers(ctx)
		}),
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			at, err := env.Store.Cursor(ctx)
			if err != nil {
				return nil, err
			}
			return env.Store.HappenedAfter(ctx, at, 500)
		}),
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			return env.Store.Due(ctx, "nsk_none", 1, 20)
		}),
		in(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) error {
			if _, _, err := env.Store.OfTopic(ctx, "nsk_none", "health", 0); err != nil {
				return err
			}
			_, err := env.Store.PruneMessages(ctx, 1, 500)
			return err
		}),
	)},
	"tokens were used": {"identity/last_use.go", all(
		in(func(ctx context.Context, env *fleettest.Fleet, c *crowded) error {
			if _, err := env.Store.ClusterTokens(ctx, c.cluster.ID); err != nil {
				return err
			}
			return env.Store.TouchTokens(ctx, map[string]int64{"tok_00001": 1})
		}),
		in(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) error {
			return env.Store.DeleteExpiredTokens(ctx, 1)
		}),
		in(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) error {
			return env.Store.DropSessions(ctx, 1)
		}),
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			return env.Store.StaleBindings(ctx, 500)
		}),
		// Not by this timer: open home pages ask.
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			return env.Store.EndingTokens(ctx, 1, 1<<60, 1)
		}),
		func(env *fleettest.Fleet, _ *crowded) error {
			if _, err := env.Store.AgentKey(env.T.Context(), "cl_none"); !errcode.Is(err, errcode.NotFound) {
				return err
			}
			return nil
		},
	)},
	"leases": {"gitcache/shard/keeper.go", read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
		return env.Store.Renew(ctx, holder, time.Hour)
	})},
	"a look at an upstream": {"gitcache/repoagent/pass.go", all(
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			return env.Store.Credentials(ctx, "repo_main")
		}),
		func(env *fleettest.Fleet, c *crowded) error {
			return env.Store.StartFetch(env.T.Context(), "repo_main", c.epoch, 0)
		},
		func(env *fleettest.Fleet, c *crowded) error {
			c.commits++
			d := fleettest.ContentDigest(fmt.Sprint(c.commits))
			return env.Store.WriteHeads(env.T.Context(), "repo_main", c.epoch, c.head(d), []gitcache.Artifact{{Digest: d, Recipe: record.Recipe{Kind: record.Git, RepositoryID: "repo_main", Commit: "c"}}})
		},
		func(env *fleettest.Fleet, c *crowded) error {
			return env.Store.WriteHealth(env.T.Context(), "repo_main", c.epoch, gitcache.Health{State: record.Pullable})
		},
	)},
	"second copies": {"gitcache/follower.go", read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
		return env.Store.Pins(ctx, "repo_main")
	})},
	"tarballs are swept": {"gitcache/sweep.go", all(
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			return env.Store.Pinned(ctx, []digest.Digest{fleettest.ContentDigest("a"), fleettest.ContentDigest("b")})
		}),
		read(func(ctx context.Context, env *fleettest.Fleet, _ *crowded) (any, error) {
			return env.Store.DropSources(ctx, time.Unix(1, 0))
		}),
	)},
}

func newCrowd(t *testing.T, d storetest.Database) (*fleettest.Fleet, *crowded) {
	t.Helper()
	env := fleettest.New(t, d)
	c := &crowded{cluster: env.AddCluster("edge-1")}
	if _, err := env.Store.CreateRepository(t.Context(), gitcache.Repository{ID: "repo_main", Name: "main", Kind: record.Git, URL: "https://git.example.test/main"}, gitcache.Credentials{}); err != nil {
		t.Fatal(err)
	}
	epochs, err := env.Store.Acquire(t.Context(), []string{"repo_main"}, holder, 1<<40, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	c.epoch = epochs["repo_main"]
	if c.source, err = gitcache.NewSource("repo_main", "main", "web", nil); err == nil {
		err = env.Store.PutSource(t.Context(), c.source)
	}
	if err == nil {
		first := fleettest.ContentDigest("first")
		err = env.Store.WriteHeads(t.Context(), "repo_main", c.epoch, c.head(first), []gitcache.Artifact{{Digest: first, Recipe: record.Recipe{
			Kind: record.Git, RepositoryID: "repo_main", Parts: []record.Part{{Recipe: record.Recipe{RepositoryID: "repo_other"}}},
		}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	env.Upstream.Commit(fleettest.SourceID("repo_main", "main", "web"), 1)
	env.SetValues(config.ValueSetChange{Kind: config.KindContext, Name: "shop", ValueSet: fleet.ValueSet{Values: map[string]any{"a": "b"}}})
	uses := fleettest.Spec("web")
	uses.Contexts, uses.Secrets = []string{"shop"}, map[string]string{"password": "hunter2"}
	c.web = env.Must(env.CreateService(t.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "web"}, Spec: uses}))
	env.Report(fleet.ReportBatch{ClusterID: c.cluster.ID, Reports: []fleet.Report{fleettest.ReportOf(c.web, "", "h")}})
	if c.engine, err = fanout.New(fanout.Config{Rollouts: env.Store, Targets: env.Store, Writer: env.Store, Subject: fanout.Agents{Fleet: env.Fleet}, Clock: env.Clock}); err != nil {
		t.Fatal(err)
	}
	if err := env.FollowHeads(t.Context()); err != nil {
		t.Fatal(err)
	}
	id, size := storetest.Numbered, fleetSize
	if !d.IsPostgres() {
		size = liteSize
	}
	db := d.SQL(t)
	for _, statement := range []string{
		"INSERT INTO contents (id, repository_id, source_revision, digest, entry, size, message, author, committed_at, parts, created_at) SELECT 'cnt-a', repository_id, '', digest, '', 0, '', '', 0, '[]', 0 FROM contents",
		"INSERT INTO content_parts (content_id, digest, repository_id) VALUES ('cnt-a', 'axle1:a', 'repo_main')",
		"INSERT INTO service_sources (service_id, source_id, repository_id) VALUES ('svc-a', 'src_a', 'repo_main')",
		"INSERT INTO superseded (digest, at) VALUES ('axle1:a', 0)",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	db.Close()
	for _, copied := range []struct {
		table, where string
		set          map[string]string
	}{
		{"clusters", "name = 'edge-1'", map[string]string{"id": id("cl_"), "name": id("edge-"), "handle": id("edge-")}},
		{"contents", "parts = ''", map[string]string{"id": id("cnt-"), "digest": id("axle1:")}},
		{"services", "name = 'web'", map[string]string{"id": id("svc-"), "cluster_id": id("cl_"), "content_id": id("cnt-"), "source_id": id("src_")}},
		{"revisions", "number = 1", map[string]string{"service_id": id("svc-"), "content_id": id("cnt-")}},
		{"specs", "version = 1", map[string]string{"owner_id": id("svc-")}},
		{"spec_documents", "document_id = (SELECT min(document_id) FROM spec_documents)", map[string]string{"owner_id": id("svc-"), "document_id": id("doc_")}},
		{"statuses", "hash = 'h'", map[string]string{"service_id": id("svc-"), "cluster_id": id("cl_")}},
		{"status_sums", "count = 1", map[string]string{"cluster_id": id("cl_")}},
		{"config_documents", "id = (SELECT min(id) FROM config_documents)", map[string]string{"id": id("doc_")}},
		{"config_uses", "kind = 'context'", map[string]string{"service_id": id("svc-")}},
		{"sources", "folder = 'web'", map[string]string{"id": id("src_")}},
		{"heads", "revision = 'r'", map[string]string{"source_id": id("src_"), "digest": id("axle1:")}},
		{"artifacts", "repository_id = 'repo_main'", map[string]string{"digest": id("axle1:"), "repository_id": id("repo_")}},
		{"artifact_parts", "repository_id = 'repo_other'", map[string]string{"digest": id("axle1:"), "repository_id": id("repo_")}},
		{"content_parts", "content_id = 'cnt-a'", map[string]string{"content_id": id("cnt-"), "digest": id("axle1:")}},
		{"service_sources", "service_id = 'svc-a'", map[string]string{"service_id": id("svc-"), "source_id": id("src_")}},
		{"superseded", "digest = 'axle1:a'", map[string]string{"digest": id("axle1:"), "at": fmt.Sprint(time.Now().UnixMicro(), " + n")}},
		{"outbox", "sequence = 1", map[string]string{"incarnation": "'0'", "sequence": "n"}},
		{"events", "id = (SELECT min(id) FROM events)", map[string]string{"id": "1000 + n"}},
	} {
		d.Copies(t, copied.table, copied.where, size, copied.set)
	}
	for _, statement := range []string{
		"UPDATE config_uses SET kind = 'reference', name = 'default:a' WHERE service_id LIKE 'svc-1%'",
		`INSERT INTO tokens (id, kind, name, hash, cluster_id, owner_id, owner_name, scopes, expires_at, created_at)
			SELECT 'tok_' || substr(id, 5), 'deploy', '', '0' || substr(id, 5), cluster_id, '', '', '[]', 4102444800000000, 0 FROM services WHERE length(id) = 9`,
		"INSERT INTO agent_keys (cluster_id, cluster_name, public_key, cluster_uid, token_id, boot_id, past_boots, registered_at) SELECT id, name, id, '', '', '', '[]', 0 FROM clusters",
		"INSERT INTO rollouts (id, subject, version, payload, plan, phase, created_at, updated_at) VALUES ('rol_1', 'axle-agent', 'v1', '', '{}', 'Done', 0, 0)",
		"INSERT INTO rollout_targets (rollout_id, cluster_id, wave, state) SELECT 'rol_1', id, 0, 'Good' FROM clusters",
		"INSERT INTO diffs (service_id, request, revision, made_at, reported_at) SELECT id, 0, 0, 0, 0 FROM services",
		"INSERT INTO test_runs (service_id, run_key, revision, state, created_at, reported_at, tests) SELECT id, 'old', 0, 'Passed', 0, 0, '[]' FROM services",
	} {
		db := d.SQL(t)
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		db.Close()
	}
	return env, c
}

// No periodic query scans a table of the fleet: its plan shows none on either
// database, and Postgres reads only a bounded number of rows.
func TestNoPeriodicQueryScansTheFleet(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, d storetest.Database) {
		env, c := newCrowd(t, d)
		db := d.SQL(t)
		if _, err := db.ExecContext(t.Context(), "ANALYZE"); err != nil {
			t.Fatal(err)
		}
		db.Close()
		for name, one := range periodics {
			// The first run covers what is read once after a start.
			if err := one.run(env, c); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			t.Run(name, func(t *testing.T) {
				plain := map[string][]any{}
				run := func() {
					env.Store.Trace(func(statement string, args []any) { plain[statement] = args })
					err := one.run(env, c)
					env.Store.Trace(nil)
					if err != nil {
						t.Fatal(err)
					}
				}
				if !d.IsPostgres() {
					run()
				} else {
					for table, read := range readsOf(env, d, run) {
						if slices.Contains(fleetTables, table) && (read.Rows > mostRead || read.Scans > 0 && read.Rows > 500) {
							t.Errorf("%d rows of %s are read, %d scans", read.Rows, table, read.Scans)
						}
					}
				}
				for statement, args := range plain {
					for _, problem := range scans(t, d, statement, args) {
						t.Errorf("%s:\n%s", problem, statement)
					}
				}
			})
		}
	})
}

// scans explains a statement and returns where it goes through a whole table of
// the fleet.
func scans(t *testing.T, d storetest.Database, statement string, args []any) []string {
	t.Helper()
	if word, _, _ := strings.Cut(statement, " "); word == "SAVEPOINT" || word == "RELEASE" {
		return nil
	}
	db := d.SQL(t)
	defer db.Close()
	if !d.IsPostgres() {
		return liteScans(t, db, statement, args)
	}
	var text []byte
	if err := db.QueryRowContext(t.Context(), "EXPLAIN (FORMAT JSON) "+statement, args...).Scan(&text); err != nil {
		t.Fatalf("explain %s: %v", statement, err)
	}
	var plans []struct{ Plan plan }
	if err := json.Unmarshal(text, &plans); err != nil {
		t.Fatal(err)
	}
	return plans[0].Plan.scans(false)
}

// plan is a node of what Postgres would do.
type plan struct {
	Type     string `json:"Node Type"`
	Relation string `json:"Relation Name"`
	Index    string `json:"Index Name"`
	Cond     string `json:"Index Cond"`
	Rows     int64  `json:"Plan Rows"`
	Plans    []plan
}

// scans are the nodes that read a table, or an index, from one end to the other;
// below a limit they do not.
func (n plan) scans(limited bool) (found []string) {
	limited = limited || n.Type == "Limit"
	whole := strings.HasSuffix(n.Type, "Scan") && n.Cond == "" && (n.Type != "Bitmap Heap Scan") && !limited && !slices.Contains(narrow, n.Index)
	if whole && slices.ContainsFunc(fleetTables, func(table string) bool {
		return n.Relation == table || n.Relation == "" && strings.HasPrefix(n.Index, table+"_")
	}) {
		found = append(found, fmt.Sprintf("%s of %s %s, %d rows", n.Type, n.Relation, n.Index, n.Rows))
	}
	for _, below := range n.Plans {
		found = append(found, below.scans(limited && n.Type != "Sort" && n.Type != "Aggregate" && n.Type != "Hash")...)
	}
	return found
}

var named = regexp.MustCompile(`(?i)\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+)(?:\s+(?:AS\s+)?(\w+))?`)

// liteScans reads SQLite's plan, which names tables by their aliases. What goes
// along an index and ends at a limit is no scan.
func liteScans(t *testing.T, db *sql.DB, statement string, args []any) (found []string) {
	t.Helper()
	aliases := map[string]string{}
	for _, m := range named.FindAllStringSubmatch(statement, -1) {
		for _, name := range m[1:] {
			aliases[name] = m[1]
		}
	}
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, args...)
	if err != nil {
		t.Fatalf("explain %s: %v", statement, err)
	}
	defer rows.Close()
	paged, sorted := strings.Contains(statement, "LIMIT"), false
	for rows.Next() {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			t.Fatal(err)
		}
		sorted = sorted || strings.Contains(line, "TEMP B-TREE")
		what, scan := strings.CutPrefix(line, "SCAN ")
		name, by, _ := strings.Cut(what, " ")
		few := slices.ContainsFunc(narrow, func(index string) bool { return strings.HasSuffix(by, "INDEX "+index) })
		if scan && !few && slices.Contains(fleetTables, aliases[name]) && !(paged && !sorted && strings.HasPrefix(by, "USING ")) {
			found = append(found, line+" ("+aliases[name]+")")
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}
