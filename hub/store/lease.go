package store

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/internal/errcode"
)

var _ peer.LeaseStore = (*Store)(nil)

// AcquireLease makes holder the holder of a lease that is free or expired more
// than grace ago, and returns its epoch. errcode.Conflict.
func (s *Store) AcquireLease(ctx context.Context, name, holder string, ttl, grace time.Duration) (epoch int64, err error) {
	// Most callers are waiting replicas: they change nothing, and lock nothing.
	_, others, err := rowOf(ctx, s, value[int64], "SELECT epoch FROM leases WHERE name = $1 AND holder <> '' AND expires_at + $2 >= {now}", name, grace.Microseconds())
	if err == nil && others {
		err = errcode.New(errcode.Conflict, "another replica holds the lease %s", name)
	}
	if err != nil {
		return 0, err
	}
	err = s.db.WriteOne(ctx, func(ctx context.Context) error {
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
	return s.db.WriteOne(ctx, func(ctx context.Context) error {
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
