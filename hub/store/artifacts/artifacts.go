// Package artifacts stores in the hub's database how tarballs are rebuilt
// (recipes), and knows which of them must remain servable. hub/store embeds its
// Table.
//
// It stores no tarball (the git cache's replicas do) and begins no transaction.
//
// Invariants:
//   - A digest stays while a kept revision or a head has it, or a head had it
//     less than a day ago.
//   - The cost of a repository's pins depends on that repository, and the cost
//     of one check of old recipes is bounded: neither depends on the fleet.
package artifacts

import (
	"context"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/record"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// supersededKept is how long content stays pinned after a head moved on.
const supersededKept = 24 * time.Hour

// Table holds all recipes. Its methods are safe for concurrent use.
type Table struct {
	db    query.DB
	clock clock.Clock
}

// New returns the recipes in a database.
func New(db query.DB, c clock.Clock) *Table { return &Table{db, c} }

// pinned returns the condition that the digest of a must remain servable: a
// service runs it or can be rolled back to it, a head points at it, or a head
// left it after the given time. Each part is an index look-up of one digest.
func pinned(after string) string {
	return `(EXISTS (SELECT 1 FROM contents o JOIN revisions r ON r.content_id = o.id WHERE o.digest = a.digest)
	OR EXISTS (SELECT 1 FROM content_parts p JOIN revisions r ON r.content_id = p.content_id WHERE p.digest = a.digest)
	OR EXISTS (SELECT 1 FROM heads h WHERE h.digest = a.digest)
	OR EXISTS (SELECT 1 FROM superseded u WHERE u.digest = a.digest AND u.at > ` + after + "))"
}

func (t *Table) dayAgo() int64 { return clock.Micros(t.clock.Now().Add(-supersededKept)) }

// Artifacts are the rows of recipes.
var (
	Artifacts = rows.Of("artifacts a", func(c *rows.Columns, a *record.Artifact) {
		rows.JSON(c, "recipe", &a.Recipe)
		rows.Col(c, "repository_id", &a.Recipe.RepositoryID)
		rows.Col(c, "commit_id", &a.Recipe.Commit)
		rows.Fields(c, a)
	}).Unread("repository_id", "commit_id")
	selectArtifacts = Artifacts.Select()
	putArtifacts    = Artifacts.All().Keep("created_at").Set("created_at", "{now}").UpsertMany("digest")
)

// Artifact returns the recipe of a digest. errcode.NotFound.
func (t *Table) Artifact(ctx context.Context, d digest.Digest) (record.Artifact, error) {
	return query.Need(ctx, t.db, errcode.New(errcode.NotFound, "no content with digest %s is known", d), Artifacts.Reader(), selectArtifacts+"WHERE a.digest = $1", d)
}

// PutArtifacts adds or replaces recipes; of several for one digest, the last
// one wins.
func (t *Table) PutArtifacts(ctx context.Context, all []record.Artifact) error {
	var recipes []record.Artifact
	var parts query.Values
	put := map[digest.Digest]bool{}
	for _, a := range slices.Backward(all) {
		if put[a.Digest] {
			continue
		}
		put[a.Digest] = true
		recipes = append(recipes, a)
		for id := range others(a.Recipe, map[string]bool{}) {
			parts.Add(id, a.Digest)
		}
	}
	if _, err := putArtifacts.Exec(ctx, t.db, recipes); err != nil {
		return err
	}
	return parts.Each(func(list string, args []any) error {
		_, err := t.db.Exec(ctx, "INSERT INTO artifact_parts (repository_id, digest) VALUES "+list+" ON CONFLICT DO NOTHING", args...)
		return err
	})
}

// others adds the repositories of a recipe's parts.
func others(r record.Recipe, into map[string]bool) map[string]bool {
	for _, p := range r.Parts {
		into[p.Recipe.RepositoryID] = true
		others(p.Recipe, into)
	}
	return into
}

// Pins returns what a repository must be able to serve, including parts of what
// others serve.
func (t *Table) Pins(ctx context.Context, repositoryID string) ([]record.Pin, error) {
	recipes, err := query.All(ctx, t.db, Artifacts.Reader(), selectArtifacts+`WHERE a.digest IN (SELECT digest FROM artifacts WHERE repository_id = $2
		UNION SELECT digest FROM artifact_parts WHERE repository_id = $2) AND `+pinned("$1")+" ORDER BY a.digest", t.dayAgo(), repositoryID)
	var pins []record.Pin
	for _, a := range recipes {
		pins = append(pins, a.Recipe.Pins(a.Digest, repositoryID)...)
	}
	return pins, err
}

// Pinned returns those of the digests that no cache may evict, sorted.
func (t *Table) Pinned(ctx context.Context, of []digest.Digest) (kept []digest.Digest, err error) {
	var list query.Values
	for _, d := range of {
		list.Add(d)
	}
	err = list.Each(func(list string, args []any) error {
		after := query.Placeholders(len(args)+1, 1)
		part, err := query.All(ctx, t.db, query.Value[digest.Digest],
			"WITH a(digest) AS (VALUES "+list+") SELECT digest FROM a WHERE "+pinned(after), append(args, t.dayAgo())...)
		kept = append(kept, part...)
		return err
	})
	slices.Sort(kept)
	return kept, err
}

// page is how many recipes one check covers.
const page = 500

// DropArtifacts deletes those of the next recipes after a digest that are no
// longer needed, and what heads left more than a day ago, in the transaction of
// ctx. It returns the last digest that it checked, empty at the end: each check
// costs the same, however many recipes there are.
func (t *Table) DropArtifacts(ctx context.Context, after string) (last string, err error) {
	old := t.dayAgo()
	if _, err := t.db.Exec(ctx, "DELETE FROM superseded WHERE at <= $1", old); err != nil {
		return "", err
	}
	digests, err := query.All(ctx, t.db, query.Value[string], "SELECT digest FROM artifacts WHERE digest > $1 ORDER BY digest LIMIT $2", after, page)
	if err != nil || len(digests) == 0 {
		return "", err
	}
	last = digests[len(digests)-1]
	_, err = t.db.Exec(ctx, `DELETE FROM artifacts WHERE digest IN (
		SELECT a.digest FROM artifacts a WHERE a.digest > $2 AND a.digest <= $3 AND a.created_at < $1 AND NOT `+pinned("$1")+")", old, after, last)
	if len(digests) < page {
		last = ""
	}
	return last, err
}
