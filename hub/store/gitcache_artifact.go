package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/errcode"
)

// supersededKept is how long content that a head left stays pinned.
const supersededKept = 24 * time.Hour

// pinned selects the digests that must be possible to serve: those that a
// service runs or can be rolled back to, those that heads point at, and those
// that heads left less than a day ago. $1 is a day ago.
const pinned = `SELECT digest FROM services WHERE digest <> ''
	UNION SELECT digest FROM revisions WHERE digest <> ''
	UNION SELECT digest FROM revision_parts
	UNION SELECT digest FROM heads WHERE digest <> ''
	UNION SELECT digest FROM superseded WHERE at > $1`

func (s *Store) dayAgo() int64 { return clock.Micros(s.clock.Now().Add(-supersededKept)) }

func scanArtifact(row scan) (a gitcache.Artifact, err error) {
	var recipe string
	var created int64
	if err = row(&a.Digest, &recipe, &a.Size, &a.Files, &a.Bytes, &created); err != nil {
		return a, err
	}
	a.CreatedAt = clock.FromMicros(created)
	return a, json.Unmarshal([]byte(recipe), &a.Recipe)
}

// Artifact returns the recipe of a digest. errcode.NotFound.
func (s *Store) Artifact(ctx context.Context, d digest.Digest) (gitcache.Artifact, error) {
	a, found, err := rowOf(ctx, s, scanArtifact, "SELECT digest, recipe, size, files, bytes, created_at FROM artifacts WHERE digest = $1", d)
	if err == nil && !found {
		err = errcode.New(errcode.NotFound, "no content with digest %s is known", d)
	}
	return a, err
}

func (s *Store) putArtifact(ctx context.Context, a gitcache.Artifact) error {
	recipe, err := json.Marshal(a.Recipe)
	if err != nil {
		return fmt.Errorf("encode the recipe of %s: %w", a.Digest, err)
	}
	_, err = s.exec(ctx, `INSERT INTO artifacts (digest, repository_id, commit_id, recipe, size, files, bytes, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, {now})
		ON CONFLICT (digest) DO UPDATE SET repository_id = excluded.repository_id, commit_id = excluded.commit_id,
			recipe = excluded.recipe, size = excluded.size, files = excluded.files, bytes = excluded.bytes`,
		a.Digest, a.Recipe.RepositoryID, a.Recipe.Commit, string(recipe), a.Size, a.Files, a.Bytes)
	return err
}

// Pins returns what must stay possible to serve from a repository, parts of
// what others serve included.
func (s *Store) Pins(ctx context.Context, repositoryID string) ([]gitcache.Pin, error) {
	recipes, err := rowsOf(ctx, s, scanArtifact, `SELECT digest, recipe, size, files, bytes, created_at FROM artifacts
		WHERE (repository_id = $2 OR recipe LIKE $3) AND digest IN (`+pinned+`) ORDER BY digest`,
		s.dayAgo(), repositoryID, `%"parts"%"`+repositoryID+`"%`)
	var pins []gitcache.Pin
	for _, a := range recipes {
		pins = append(pins, a.Recipe.Pins(a.Digest, repositoryID)...)
	}
	return pins, err
}

// PinnedDigests returns all digests that no cache may evict, sorted.
func (s *Store) PinnedDigests(ctx context.Context) ([]digest.Digest, error) {
	return rowsOf(ctx, s, value[digest.Digest], "SELECT digest FROM ("+pinned+") p ORDER BY digest", s.dayAgo())
}

// pruneArtifacts forgets recipes that nobody can ask for any more, and what
// heads left more than a day ago.
func (s *Store) pruneArtifacts(ctx context.Context) (n int64, err error) {
	err = s.Write(ctx, func(ctx context.Context) error {
		old := s.dayAgo()
		if _, err := s.exec(ctx, "DELETE FROM superseded WHERE at <= $1", old); err != nil {
			return err
		}
		n, err = s.exec(ctx, `DELETE FROM artifacts WHERE digest IN (
			SELECT digest FROM artifacts WHERE created_at < $1 AND digest NOT IN (`+pinned+`) LIMIT $2)`, old, retentionChunk)
		return err
	})
	return n, err
}
