package store

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/gitcache/shard"
	"github.com/axle-cd/axle/internal/clock"
)

var _ gitcache.PlacementStore = (*Store)(nil)

const selectPlacement = `SELECT l.repository_id, r.bytes, l.replica, COALESCE(p.url, ''), l.epoch, l.expires_at, l.acquired_at,
	l.preferred, l.follower, l.moved_at, l.followed_at, l.fetch_started_at, r.created_at, {now}
	FROM repository_leases l JOIN repositories r ON r.id = l.repository_id LEFT JOIN replicas p ON p.name = l.replica `

func scanPlacement(row scan) (p shard.Placement, err error) {
	var expires, acquired, moved, followed, started, created, now int64
	err = row(&p.RepositoryID, &p.Bytes, &p.Owner, &p.OwnerURL, &p.Epoch, &expires, &acquired,
		&p.Preferred, &p.Follower, &moved, &followed, &started, &created, &now)
	p.Held = p.Owner != "" && expires > now
	p.AcquiredAt, p.MovedAgo = clock.FromMicros(acquired), time.Duration(now-moved)*time.Microsecond
	p.FollowedAt, p.FetchStartedAt = clock.FromMicros(followed), clock.FromMicros(started)
	if p.Held {
		p.Age = time.Duration(now-acquired) * time.Microsecond
	} else {
		p.FreeFor = time.Duration(now-max(expires, created)) * time.Microsecond
	}
	return p, err
}

// Placements returns which replica owns each repository and which should, in
// order of id.
func (s *Store) Placements(ctx context.Context) ([]shard.Placement, error) {
	return rowsOf(ctx, s, scanPlacement, selectPlacement+"ORDER BY l.repository_id")
}

// Placement returns one placement. errcode.NotFound.
func (s *Store) Placement(ctx context.Context, repositoryID string) (shard.Placement, error) {
	p, found, err := rowOf(ctx, s, scanPlacement, selectPlacement+"WHERE l.repository_id = $1", repositoryID)
	if err == nil && !found {
		err = noRepository(repositoryID)
	}
	return p, err
}

// Assign writes which replicas should own and follow repositories, and
// announces it. Deleted repositories are left out.
func (s *Store) Assign(ctx context.Context, all []shard.Assignment) error {
	return s.Write(ctx, func(ctx context.Context) error {
		for _, a := range all {
			moved := "moved_at"
			if a.Move {
				moved = "{now}"
			}
			found, err := s.execOne(ctx, `UPDATE repository_leases SET preferred = $2, moved_at = `+moved+`,
				followed_at = CASE WHEN follower = $3 THEN followed_at ELSE 0 END, follower = $3
				WHERE repository_id = $1`, a.RepositoryID, a.Preferred, a.Follower)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			if err := event.Append(ctx, event.Change{Kind: event.KindRepository, Key: a.RepositoryID}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Followed records that a follower has everything that the owner has now.
func (s *Store) Followed(ctx context.Context, repositoryID, replica string) error {
	return s.Write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, "UPDATE repository_leases SET followed_at = {now} WHERE repository_id = $1 AND follower = $2", repositoryID, replica)
		return err
	})
}
