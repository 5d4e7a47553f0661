package sources

import (
	"context"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	sourceTable = rows.Of("sources", func(c *rows.Columns, s *gitcache.Source) {
		rows.JSON(c, "files", &s.Files)
		rows.Sparse(c, "options", &s.Options, "{}")
		rows.Fields(c, s)
	})
	selectSources = sourceTable.Select()
	insertSource  = sourceTable.All().Set("put_at", "{now}").Insert("ON CONFLICT DO NOTHING")
)

// PutSource ensures that a source is in use. errcode.NotFound when its
// repository does not exist.
func (s *Table) PutSource(ctx context.Context, src gitcache.Source) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		if _, err := s.Repository(ctx, src.RepositoryID); err != nil {
			return err
		}
		known, err := query.ExecOne(ctx, s.db, "UPDATE sources SET put_at = {now} WHERE id = $1", src.ID)
		if err != nil || known {
			return err
		}
		created, err := insertSource.ExecOne(ctx, s.db, &src)
		if err != nil || !created {
			return err
		}
		return event.Append(ctx, event.Change{Kind: event.KindSource, Key: src.RepositoryID})
	})
}

// sourcesAtOnce is how many sources one check covers.
const sourcesAtOnce = 2000

// DropSources deletes sources, with their heads, that no service follows and
// that were last put before the given time. Each call checks a number of them
// and the next call continues, so its cost does not depend on the fleet.
func (s *Table) DropSources(ctx context.Context, putBefore time.Time) (n int, err error) {
	s.mu.Lock()
	after := s.pruned
	s.mu.Unlock()
	last := ""
	err = s.db.Write(ctx, func(ctx context.Context) error {
		n, last = 0, ""
		page, err := query.All(ctx, s.db, query.Value[string], "SELECT id FROM sources WHERE id > $1 ORDER BY id LIMIT $2", after, sourcesAtOnce)
		if err != nil || len(page) == 0 {
			return err
		}
		end := page[len(page)-1]
		if len(page) == sourcesAtOnce {
			last = end
		}
		of, err := query.All(ctx, s.db, query.Value[string], `DELETE FROM sources
			WHERE id > $2 AND id <= $3 AND put_at < $1 AND NOT EXISTS (SELECT 1 FROM services v WHERE v.source_id = sources.id)
				AND NOT EXISTS (SELECT 1 FROM service_sources v WHERE v.source_id = sources.id)
			RETURNING repository_id`, clock.Micros(putBefore), after, end)
		if err != nil {
			return err
		}
		n = len(of)
		slices.Sort(of)
		for _, id := range slices.Compact(of) {
			if err := event.Append(ctx, event.Change{Kind: event.KindSource, Key: id}); err != nil {
				return err
			}
		}
		return nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pruned = last
	return n, err
}

// Source returns one source. errcode.NotFound.
func (s *Table) Source(ctx context.Context, id string) (gitcache.Source, error) {
	return query.Need(ctx, s.db, errcode.New(errcode.NotFound, "source %s does not exist", id), sourceTable.Reader(), selectSources+"WHERE id = $1", id)
}

// Sources returns the sources of a repository, sorted by ID.
func (s *Table) Sources(ctx context.Context, repositoryID string) ([]gitcache.Source, error) {
	return query.All(ctx, s.db, sourceTable.Reader(), selectSources+"WHERE repository_id = $1 ORDER BY id", repositoryID)
}
