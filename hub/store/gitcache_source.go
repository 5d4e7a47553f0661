package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const selectSource = "SELECT id, repository_id, ref, folder, files, options FROM sources "

func scanSource(row scan) (src gitcache.Source, err error) {
	var files, options string
	if err = row(&src.ID, &src.RepositoryID, &src.Ref, &src.Folder, &files, &options); err != nil {
		return src, err
	}
	if err = decodeOptions(options, &src.Options); err != nil {
		return src, err
	}
	return src, json.Unmarshal([]byte(files), &src.Files)
}

// PutSource ensures that a source is in use. errcode.NotFound when its
// repository does not exist.
func (s *Store) PutSource(ctx context.Context, src gitcache.Source) error {
	files, err := json.Marshal(src.Files)
	if err != nil {
		return fmt.Errorf("encode files: %w", err)
	}
	options, err := encodeOptions(src.Options)
	if err != nil {
		return err
	}
	return s.Write(ctx, func(ctx context.Context) error {
		if _, err := s.Repository(ctx, src.RepositoryID); err != nil {
			return err
		}
		known, err := s.execOne(ctx, "UPDATE sources SET put_at = {now} WHERE id = $1", src.ID)
		if err != nil || known {
			return err
		}
		created, err := s.execOne(ctx, `INSERT INTO sources (id, repository_id, ref, folder, files, options, put_at)
			VALUES ($1, $2, $3, $4, $5, $6, {now}) ON CONFLICT DO NOTHING`, src.ID, src.RepositoryID, src.Ref, src.Folder, string(files), options)
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
func (s *Store) DropSources(ctx context.Context, putBefore time.Time) (n int, err error) {
	s.mu.Lock()
	after := s.pruned.source
	s.mu.Unlock()
	last := ""
	err = s.Write(ctx, func(ctx context.Context) error {
		n, last = 0, ""
		page, err := rowsOf(ctx, s, value[string], "SELECT id FROM sources WHERE id > $1 ORDER BY id LIMIT $2", after, sourcesAtOnce)
		if err != nil || len(page) == 0 {
			return err
		}
		end := page[len(page)-1]
		if len(page) == sourcesAtOnce {
			last = end
		}
		of, err := rowsOf(ctx, s, value[string], `DELETE FROM sources
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
	s.pruned.source = last
	return n, err
}

// Source returns one source. errcode.NotFound.
func (s *Store) Source(ctx context.Context, id string) (gitcache.Source, error) {
	src, found, err := rowOf(ctx, s, scanSource, selectSource+"WHERE id = $1", id)
	if err == nil && !found {
		err = errcode.New(errcode.NotFound, "source %s does not exist", id)
	}
	return src, err
}

// Sources returns the sources of a repository, sorted by ID.
func (s *Store) Sources(ctx context.Context, repositoryID string) ([]gitcache.Source, error) {
	return rowsOf(ctx, s, scanSource, selectSource+"WHERE repository_id = $1 ORDER BY id", repositoryID)
}
