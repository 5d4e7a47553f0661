package store

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	_ peer.LeaseStore  = (*Store)(nil)
	_ peer.MemberStore = (*Store)(nil)
)

// replicasKept is how long the row of a replica that is gone stays.
const replicasKept = 7 * 24 * time.Hour

// AcquireLease makes holder the holder of a lease that is free or ran out more
// than grace ago, and returns its epoch. errcode.Conflict.
func (s *Store) AcquireLease(ctx context.Context, name, holder string, ttl, grace time.Duration) (epoch int64, err error) {
	err = s.Write(ctx, func(ctx context.Context) error {
		var taken bool
		epoch, taken, err = rowOf(ctx, s, value[int64], `INSERT INTO leases (name, holder, epoch, expires_at)
			VALUES ($1, $2, 1, {now} + $3)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = leases.epoch + 1, expires_at = excluded.expires_at
			WHERE leases.holder = '' OR leases.expires_at + $4 < {now}
			RETURNING epoch`, name, holder, ttl.Microseconds(), grace.Microseconds())
		if err == nil && !taken {
			err = errcode.New(errcode.Conflict, "another replica holds the lease %s", name)
		}
		return err
	})
	return epoch, err
}

// RenewLease extends a lease. errcode.Conflict when it was lost.
func (s *Store) RenewLease(ctx context.Context, name, holder string, epoch int64, ttl time.Duration) error {
	return s.Write(ctx, func(ctx context.Context) error {
		held, err := s.execOne(ctx, "UPDATE leases SET expires_at = {now} + $4 WHERE name = $1 AND holder = $2 AND epoch = $3",
			name, holder, epoch, ttl.Microseconds())
		if err == nil && !held {
			err = errcode.New(errcode.Conflict, "the lease %s was lost to another replica", name)
		}
		return err
	})
}

// ReleaseLease frees a lease at once, or does nothing when it was lost.
func (s *Store) ReleaseLease(ctx context.Context, name, holder string, epoch int64) error {
	return s.Write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, "UPDATE leases SET holder = '', expires_at = 0 WHERE name = $1 AND holder = $2 AND epoch = $3", name, holder, epoch)
		return err
	})
}

// Heartbeat writes a replica's row.
func (s *Store) Heartbeat(ctx context.Context, r peer.Replica, drain time.Duration) error {
	return s.Write(ctx, func(ctx context.Context) error {
		until := "0"
		args := []any{r.Name, r.URL, r.Version}
		if drain > 0 {
			until, args = "{now} + $4", append(args, drain.Microseconds())
		}
		_, err := s.exec(ctx, `INSERT INTO replicas (name, url, version, seen_at, draining_until)
			VALUES ($1, $2, $3, {now}, `+until+`)
			ON CONFLICT (name) DO UPDATE SET url = excluded.url, version = excluded.version,
				seen_at = excluded.seen_at, draining_until = excluded.draining_until`, args...)
		return err
	})
}

// Replicas returns those with a heartbeat within the time, in order of name.
func (s *Store) Replicas(ctx context.Context, within time.Duration) ([]peer.Replica, error) {
	return rowsOf(ctx, s, func(row scan) (r peer.Replica, err error) {
		var seen, draining int64
		err = row(&r.Name, &r.URL, &r.Version, &seen, &draining)
		r.SeenAt, r.DrainingUntil = clock.FromMicros(seen), clock.FromMicros(draining)
		return r, err
	}, "SELECT name, url, version, seen_at, draining_until FROM replicas WHERE seen_at > {now} - $1 ORDER BY name", within.Microseconds())
}

// pruneReplicas forgets replicas that are long gone.
func (s *Store) pruneReplicas(ctx context.Context) error {
	return s.Write(ctx, func(ctx context.Context) error {
		_, err := s.exec(ctx, "DELETE FROM replicas WHERE seen_at < {now} - $1", replicasKept.Microseconds())
		return err
	})
}
