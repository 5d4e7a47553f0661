package store

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

var _ peer.MemberStore = (*Store)(nil)

// replicasKept is how long the row of a removed replica is kept.
const replicasKept = 7 * 24 * time.Hour

// Heartbeat writes a replica's row. A restarted replica is no longer draining:
// its operator wants it to take part.
func (s *Store) Heartbeat(ctx context.Context, r peer.Replica, drain time.Duration) error {
	return s.writeOne(ctx, func(ctx context.Context) error {
		until := "0"
		args := []any{r.Name, r.URL, r.Version, clock.Micros(r.StartedAt), r.Position.Incarnation, r.Position.Sequence,
			r.FeedAge.Microseconds(), r.DiskFree, r.DiskTotal}
		if drain > 0 {
			until, args = "{now} + $10", append(args, drain.Microseconds())
		}
		_, err := s.exec(ctx, `INSERT INTO replicas (name, url, version, seen_at, started_at, incarnation, sequence, feed_age, disk_free, disk_total, draining_until)
			VALUES ($1, $2, $3, {now}, $4, $5, $6, $7, $8, $9, `+until+`)
			ON CONFLICT (name) DO UPDATE SET url = excluded.url, version = excluded.version, seen_at = excluded.seen_at,
				leaving = CASE WHEN replicas.started_at = excluded.started_at THEN replicas.leaving ELSE 0 END,
				started_at = excluded.started_at, incarnation = excluded.incarnation, sequence = excluded.sequence,
				feed_age = excluded.feed_age, disk_free = excluded.disk_free, disk_total = excluded.disk_total,
				draining_until = excluded.draining_until`, args...)
		return err
	})
}

// Replicas returns all known replicas, in order of name.
func (s *Store) Replicas(ctx context.Context, within time.Duration) ([]peer.Replica, error) {
	return rowsOf(ctx, s, func(row scan) (r peer.Replica, err error) {
		var seen, draining, started, leaving, age, now int64
		err = row(&r.Name, &r.URL, &r.Version, &seen, &draining, &started, &leaving,
			&r.Position.Incarnation, &r.Position.Sequence, &age, &r.DiskFree, &r.DiskTotal, &now)
		r.SeenAt, r.DrainingUntil, r.StartedAt = clock.FromMicros(seen), clock.FromMicros(draining), clock.FromMicros(started)
		r.Leaving, r.FeedAge = leaving != 0, time.Duration(age)*time.Microsecond
		r.Alive = draining == 0 && seen > now-within.Microseconds()
		r.Present = r.Alive || (draining > now && !r.Leaving)
		return r, err
	}, `SELECT name, url, version, seen_at, draining_until, started_at, leaving, incarnation, sequence, feed_age, disk_free, disk_total, {now}
		FROM replicas ORDER BY name`)
}

// SetLeaving drains a replica so that it owns nothing, or revokes that.
// errcode.NotFound.
func (s *Store) SetLeaving(ctx context.Context, name string, leaving bool) error {
	return s.Write(ctx, func(ctx context.Context) error {
		flag := 0
		if leaving {
			flag = 1
		}
		found, err := s.execOne(ctx, "UPDATE replicas SET leaving = $2 WHERE name = $1", name, flag)
		if err == nil && !found {
			err = errcode.New(errcode.NotFound, "replica %q does not exist; axle hub status lists all", name)
		}
		return err
	})
}

// pruneReplicas deletes replicas that are long gone.
func (s *Store) pruneReplicas(ctx context.Context) error {
	return s.Write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, "DELETE FROM replicas WHERE seen_at < {now} - $1", replicasKept.Microseconds())
		return err
	})
}
