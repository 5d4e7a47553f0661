package sources

import (
	"context"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

// headsAtOnce is the most that one WriteHeads takes.
const headsAtOnce = 500

var (
	headTable = rows.Of("heads", func(c *rows.Columns, h *gitcache.Head) {
		rows.Col(c, "change_key", &h.Key)
		rows.Fields(c, h)
	})
	selectHeads = headTable.Select()
	headColumns = headTable.All().Keep("repository_id").Set("updated_at", "{now}")
	upsertHeads = headColumns.InsertMany(headColumns.OrReplace("source_id") + " WHERE heads.epoch <= excluded.epoch")
	// movedHeads are the columns whose change moves a head.
	movedHeads = headTable.Only("source_id", "digest", "entry", "error").Statement("{columns}")
)

// Head returns the head of one source. errcode.NotFound when it was never
// evaluated.
func (s *Table) Head(ctx context.Context, sourceID string) (gitcache.Head, error) {
	return query.Need(ctx, s.db, errcode.New(errcode.NotFound, "source %s has no head yet", sourceID), headTable.Reader(), selectHeads+"WHERE source_id = $1", sourceID)
}

// Heads returns the heads of a repository's sources, sorted by source ID.
func (s *Table) Heads(ctx context.Context, repositoryID string) ([]gitcache.Head, error) {
	return query.All(ctx, s.db, headTable.Reader(), selectHeads+"WHERE repository_id = $1 ORDER BY source_id", repositoryID)
}

// HeadsOf returns the heads that exist of some sources, in any order.
func (s *Table) HeadsOf(ctx context.Context, sourceIDs []string) (heads []gitcache.Head, err error) {
	err = query.Chunks(sourceIDs, func(args []any) error {
		part, err := query.All(ctx, s.db, headTable.Reader(), selectHeads+"WHERE source_id IN ("+query.Placeholders(1, len(args))+")", args...)
		heads = append(heads, part...)
		return err
	})
	return heads, err
}

// EachHead streams all heads, to build indexes.
func (s *Table) EachHead(ctx context.Context, fn func(gitcache.Head) error) error {
	return query.Stream(ctx, s.db, headTable.Reader(), fn, selectHeads+"ORDER BY source_id")
}

// WriteHeads replaces the given heads and adds or replaces the artifacts they
// point at. errcode.Conflict when a later epoch has the lease or wrote a head.
func (s *Table) WriteHeads(ctx context.Context, repositoryID string, epoch int64, heads []gitcache.Head, artifacts []gitcache.Artifact) error {
	if len(heads) > headsAtOnce || len(artifacts) > headsAtOnce {
		return errcode.New(errcode.Internal, "%d heads were written at once; the most is %d", max(len(heads), len(artifacts)), headsAtOnce)
	}
	return s.db.Write(ctx, func(ctx context.Context) error {
		if err := s.fence(ctx, repositoryID, epoch); err != nil {
			return err
		}
		if err := s.putArtifacts(ctx, artifacts); err != nil {
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
func (s *Table) followed(ctx context.Context, repositoryID string, heads []gitcache.Head) ([]gitcache.Head, error) {
	given, ids := map[string]gitcache.Head{}, make([]string, 0, len(heads))
	for _, h := range heads {
		if _, twice := given[h.SourceID]; !twice {
			ids = append(ids, h.SourceID)
		}
		given[h.SourceID] = h
	}
	var kept []gitcache.Head
	return kept, query.Chunks(ids, func(args []any) error {
		known, err := query.All(ctx, s.db, query.Value[string], "SELECT id FROM sources WHERE repository_id = $1 AND id IN ("+query.Placeholders(2, len(args))+") ORDER BY id", append([]any{repositoryID}, args...)...)
		for _, id := range known {
			kept = append(kept, given[id])
		}
		return err
	})
}

// noteMoved records what heads pointed at until now, since agents may still
// request it, and which sources have services to update: those with other
// content, and those that began or stopped failing.
func (s *Table) noteMoved(ctx context.Context, heads []gitcache.Head) error {
	var moved query.Values
	for i := range heads {
		moved.Add(movedHeads.Append(nil, &heads[i])...)
	}
	list, args := moved.List()
	with := "WITH v(" + movedHeads.Text() + ") AS (VALUES " + list + ") "
	_, err := s.db.Exec(ctx, with+`INSERT INTO superseded (digest, at)
		SELECT digest, {now} FROM (SELECT DISTINCT h.digest FROM v JOIN heads h ON h.source_id = v.source_id
			WHERE h.digest <> v.digest AND h.digest <> '') d WHERE true
		ON CONFLICT (digest) DO UPDATE SET at = excluded.at`, args...)
	if err != nil {
		return err
	}
	// Write the row even if it exists: a concurrent transaction that deletes it
	// has read older heads, and must retry.
	_, err = s.db.Exec(ctx, with+`INSERT INTO moved_sources (source_id, at)
		SELECT v.source_id, {now} FROM v WHERE NOT EXISTS (SELECT 1 FROM heads h WHERE h.source_id = v.source_id
			AND h.digest = v.digest AND h.entry = v.entry AND (h.error = '' AND v.error = '' OR h.error <> '' AND v.error <> ''))
		ON CONFLICT (source_id) DO UPDATE SET at = moved_sources.at`, args...)
	return err
}

func (s *Table) putHeads(ctx context.Context, repositoryID string, epoch int64, heads []gitcache.Head) error {
	for i := range heads {
		heads[i].RepositoryID, heads[i].Epoch = repositoryID, epoch
	}
	written, err := upsertHeads.Exec(ctx, s.db, heads)
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
