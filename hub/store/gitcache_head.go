package store

import (
	"context"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// headsAtOnce is the most that one WriteHeads takes.
const headsAtOnce = 500

const selectHeads = `SELECT source_id, repository_id, revision, message, author, committed_at, digest, size, entry, change_key,
	epoch, fetch_seq, fetched_at, error, error_code, error_since, updated_at FROM heads `

func scanHead(row scan) (h gitcache.Head, err error) {
	var committed, fetched, since, updated int64
	err = row(&h.SourceID, &h.RepositoryID, &h.Revision, &h.Message, &h.Author, &committed, &h.Digest, &h.Size, &h.Entry, &h.Key,
		&h.Epoch, &h.FetchSeq, &fetched, &h.Error, &h.ErrorCode, &since, &updated)
	h.CommittedAt, h.FetchedAt = clock.FromMicros(committed), clock.FromMicros(fetched)
	h.ErrorSince, h.UpdatedAt = clock.FromMicros(since), clock.FromMicros(updated)
	return h, err
}

// Head returns the head of one source. errcode.NotFound when it was never
// evaluated.
func (s *Store) Head(ctx context.Context, sourceID string) (gitcache.Head, error) {
	h, found, err := rowOf(ctx, s, scanHead, selectHeads+"WHERE source_id = $1", sourceID)
	if err == nil && !found {
		err = errcode.New(errcode.NotFound, "source %s has no head yet", sourceID)
	}
	return h, err
}

// Heads returns the heads of a repository's sources, sorted by source ID.
func (s *Store) Heads(ctx context.Context, repositoryID string) ([]gitcache.Head, error) {
	return rowsOf(ctx, s, scanHead, selectHeads+"WHERE repository_id = $1 ORDER BY source_id", repositoryID)
}

// HeadsOf returns the heads that exist of some sources, in any order.
func (s *Store) HeadsOf(ctx context.Context, sourceIDs []string) (heads []gitcache.Head, err error) {
	err = chunks(sourceIDs, func(args []any) error {
		part, err := rowsOf(ctx, s, scanHead, selectHeads+"WHERE source_id IN ("+placeholders(1, len(args))+")", args...)
		heads = append(heads, part...)
		return err
	})
	return heads, err
}

// EachHead streams all heads, to build indexes.
func (s *Store) EachHead(ctx context.Context, fn func(gitcache.Head) error) error {
	return s.each(ctx, selectHeads+"ORDER BY source_id", nil, func(row scan) error {
		h, err := scanHead(row)
		if err != nil {
			return err
		}
		return fn(h)
	})
}

// WriteHeads replaces the given heads and adds or replaces the artifacts they
// point at. errcode.Conflict when a later epoch has the lease or wrote a head.
func (s *Store) WriteHeads(ctx context.Context, repositoryID string, epoch int64, heads []gitcache.Head, artifacts []gitcache.Artifact) error {
	if len(heads) > headsAtOnce || len(artifacts) > headsAtOnce {
		return errcode.New(errcode.Internal, "%d heads were written at once; the most is %d", max(len(heads), len(artifacts)), headsAtOnce)
	}
	return s.Write(ctx, func(ctx context.Context) error {
		if err := s.fence(ctx, repositoryID, epoch); err != nil {
			return err
		}
		if err := s.PutArtifacts(ctx, artifacts); err != nil {
			return err
		}
		heads, err := s.followed(ctx, repositoryID, heads)
		if err != nil || len(heads) == 0 {
			return err
		}
		if err := s.noteMoved(ctx, heads); err != nil {
			return err
		}
		return s.putHeads(ctx, repositoryID, epoch, heads)
	})
}

// followed returns those heads whose sources the repository still has; of
// several for one source, the last.
func (s *Store) followed(ctx context.Context, repositoryID string, heads []gitcache.Head) ([]gitcache.Head, error) {
	given, ids := map[string]gitcache.Head{}, make([]string, 0, len(heads))
	for _, h := range heads {
		if _, twice := given[h.SourceID]; !twice {
			ids = append(ids, h.SourceID)
		}
		given[h.SourceID] = h
	}
	var kept []gitcache.Head
	return kept, chunks(ids, func(args []any) error {
		known, err := rowsOf(ctx, s, value[string], "SELECT id FROM sources WHERE repository_id = $1 AND id IN ("+placeholders(2, len(args))+") ORDER BY id", append([]any{repositoryID}, args...)...)
		for _, id := range known {
			kept = append(kept, given[id])
		}
		return err
	})
}

// noteMoved records what heads pointed at until now, since agents may still
// request it, and which sources have services to update: those with other
// content, and those that began or stopped failing.
func (s *Store) noteMoved(ctx context.Context, heads []gitcache.Head) error {
	var rows query.Values
	for _, h := range heads {
		rows.Add(h.SourceID, h.Digest, h.Entry, h.Error)
	}
	list, args := rows.List()
	with := "WITH v(source_id, digest, entry, error) AS (VALUES " + list + ") "
	_, err := s.exec(ctx, with+`INSERT INTO superseded (digest, at)
		SELECT digest, {now} FROM (SELECT DISTINCT h.digest FROM v JOIN heads h ON h.source_id = v.source_id
			WHERE h.digest <> v.digest AND h.digest <> '') d WHERE true
		ON CONFLICT (digest) DO UPDATE SET at = excluded.at`, args...)
	if err != nil {
		return err
	}
	// Write the row even if it exists: a concurrent transaction that deletes it
	// has read older heads, and must retry.
	_, err = s.exec(ctx, with+`INSERT INTO moved_sources (source_id, at)
		SELECT v.source_id, {now} FROM v WHERE NOT EXISTS (SELECT 1 FROM heads h WHERE h.source_id = v.source_id
			AND h.digest = v.digest AND h.entry = v.entry AND (h.error = '' AND v.error = '' OR h.error <> '' AND v.error <> ''))
		ON CONFLICT (source_id) DO UPDATE SET at = moved_sources.at`, args...)
	return err
}

func (s *Store) putHeads(ctx context.Context, repositoryID string, epoch int64, heads []gitcache.Head) error {
	var rows query.Values
	for _, h := range heads {
		rows.Add(h.SourceID, repositoryID, h.Revision, h.Message, h.Author, clock.Micros(h.CommittedAt), h.Digest, h.Size,
			h.Entry, h.Key, epoch, h.FetchSeq, clock.Micros(h.FetchedAt), h.Error, h.ErrorCode, clock.Micros(h.ErrorSince), query.Now)
	}
	list, args := rows.List()
	written, err := s.exec(ctx, `INSERT INTO heads (source_id, repository_id, revision, message, author, committed_at, digest, size,
			entry, change_key, epoch, fetch_seq, fetched_at, error, error_code, error_since, updated_at)
		VALUES `+list+`
		ON CONFLICT (source_id) DO UPDATE SET revision = excluded.revision, message = excluded.message, author = excluded.author,
			committed_at = excluded.committed_at, digest = excluded.digest, size = excluded.size, entry = excluded.entry,
			change_key = excluded.change_key, epoch = excluded.epoch, fetch_seq = excluded.fetch_seq, fetched_at = excluded.fetched_at,
			error = excluded.error, error_code = excluded.error_code, error_since = excluded.error_since, updated_at = excluded.updated_at
		WHERE heads.epoch <= excluded.epoch`, args...)
	if err != nil {
		return err
	}
	if written != int64(len(heads)) {
		return staleEpoch(repositoryID, epoch)
	}
	for _, h := range heads {
		if err := event.Append(ctx, event.Change{Kind: event.KindHead, Key: h.SourceID}); err != nil {
			return err
		}
	}
	return nil
}
