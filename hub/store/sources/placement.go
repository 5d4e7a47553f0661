package sources

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/gitcache/shard"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/clock"
)

// placed is a placement with the times that its state is computed from.
type placed struct {
	shard.Placement
	expires, moved, created, now int64
}

var (
	placementTable = rows.Of("repository_leases l", func(c *rows.Columns, p *placed) {
		rows.Col(c, "r.bytes", &p.Bytes)
		rows.Col(c, "replica", &p.Owner)
		rows.Col(c, "COALESCE(p.url, '')", &p.OwnerURL)
		rows.Col(c, "expires_at", &p.expires)
		rows.Col(c, "moved_at", &p.moved)
		rows.Col(c, "r.created_at", &p.created)
		rows.Col(c, "{now}", &p.now)
		rows.FieldsBut(c, p, &p.Placement.Held, &p.Placement.FreeFor, &p.Placement.MovedAgo, &p.Placement.Age)
	}).Then((*placed).derive)
	selectPlacements = placementTable.Select() + "JOIN repositories r ON r.id = l.repository_id LEFT JOIN replicas p ON p.name = l.replica "
)

// derive sets the fields that follow from the times.
func (p *placed) derive() {
	ago := func(at int64) time.Duration { return time.Duration(p.now-at) * time.Microsecond }
	p.Held, p.MovedAgo = p.Owner != "" && p.expires > p.now, ago(p.moved)
	if p.Held {
		p.Age = ago(clock.Micros(p.AcquiredAt))
	} else {
		p.FreeFor = ago(max(p.expires, p.created))
	}
}

// readPlacement reads the rows of one query.
func readPlacement() func(query.Scan) (shard.Placement, error) {
	read := placementTable.Reader()
	return func(row query.Scan) (shard.Placement, error) {
		p, err := read(row)
		return p.Placement, err
	}
}

// Placements returns which replica owns each repository and which should, in
// order of id.
func (s *leaseRows) Placements(ctx context.Context) ([]shard.Placement, error) {
	return query.All(ctx, s.db, readPlacement(), selectPlacements+"ORDER BY l.repository_id")
}

// Placement returns one placement. errcode.NotFound.
func (s *leaseRows) Placement(ctx context.Context, repositoryID string) (shard.Placement, error) {
	return query.Need(ctx, s.db, noRepository(repositoryID), readPlacement(), selectPlacements+"WHERE l.repository_id = $1", repositoryID)
}

// Assign writes which replicas should own and follow repositories, and
// announces it. Deleted repositories are left out.
func (s *leaseRows) Assign(ctx context.Context, all []shard.Assignment) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		for _, a := range all {
			moved := "moved_at"
			if a.Move {
				moved = "{now}"
			}
			found, err := query.ExecOne(ctx, s.db, `UPDATE repository_leases SET preferred = $2, moved_at = `+moved+`,
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
func (s *leaseRows) Followed(ctx context.Context, repositoryID, replica string) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		_, err := s.db.Exec(ctx, "UPDATE repository_leases SET followed_at = {now} WHERE repository_id = $1 AND follower = $2", repositoryID, replica)
		return err
	})
}
