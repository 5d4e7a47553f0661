package store

import (
	"context"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/digest"
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

// EachHead streams all heads, for indexes that are built anew.
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
		for _, a := range artifacts {
			if err := s.putArtifact(ctx, a); err != nil {
				return err
			}
		}
		for _, h := range heads {
			if err := s.writeHead(ctx, repositoryID, epoch, h); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) writeHead(ctx context.Context, repositoryID string, epoch int64, h gitcache.Head) error {
	_, found, err := rowOf(ctx, s, value[string], "SELECT id FROM sources WHERE id = $1 AND repository_id = $2", h.SourceID, repositoryID)
	if err != nil || !found {
		return err
	}
	if err := s.supersede(ctx, h.SourceID, h.Digest); err != nil {
		return err
	}
	written, err := s.execOne(ctx, `INSERT INTO heads (source_id, repository_id, revision, message, author, committed_at, digest, size,
			entry, change_key, epoch, fetch_seq, fetched_at, error, error_code, error_since, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, {now})
		ON CONFLICT (source_id) DO UPDATE SET revision = excluded.revision, message = excluded.message, author = excluded.author,
			committed_at = excluded.committed_at, digest = excluded.digest, size = excluded.size, entry = excluded.entry,
			change_key = excluded.change_key, epoch = excluded.epoch, fetch_seq = excluded.fetch_seq, fetched_at = excluded.fetched_at,
			error = excluded.error, error_code = excluded.error_code, error_since = excluded.error_since, updated_at = excluded.updated_at
		WHERE heads.epoch <= excluded.epoch`,
		h.SourceID, repositoryID, h.Revision, h.Message, h.Author, clock.Micros(h.CommittedAt), h.Digest, h.Size,
		h.Entry, h.Key, epoch, h.FetchSeq, clock.Micros(h.FetchedAt), h.Error, h.ErrorCode, clock.Micros(h.ErrorSince))
	if err != nil {
		return err
	}
	if !written {
		return staleEpoch(repositoryID, epoch)
	}
	return event.Append(ctx, event.Change{Kind: event.KindHead, Key: h.SourceID})
}

// supersede remembers what a head pointed at until now, since agents may still
// ask for it.
func (s *Store) supersede(ctx context.Context, sourceID string, next digest.Digest) error {
	_, err := s.exec(ctx, `INSERT INTO superseded (digest, at)
		SELECT digest, {now} FROM heads WHERE source_id = $1 AND digest <> $2 AND digest <> ''
		ON CONFLICT (digest) DO UPDATE SET at = excluded.at`, sourceID, next)
	return err
}
