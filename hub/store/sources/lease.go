package sources

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// Acquire makes h the holder of those leases that are free, expired more than
// grace ago or belong to an earlier run of h, and returns their new epochs.
func (s *leaseRows) Acquire(ctx context.Context, repositoryIDs []string, h gitcache.Holder, ttl, grace time.Duration) (map[string]int64, error) {
	var epochs map[string]int64
	err := s.db.Write(ctx, func(ctx context.Context) error {
		epochs = make(map[string]int64, len(repositoryIDs))
		return query.Chunks(repositoryIDs, func(ids []any) error {
			args := append([]any{h.Replica, h.Boot, ttl.Microseconds(), grace.Microseconds()}, ids...)
			_, err := query.All(ctx, s.db, func(row query.Scan) (id string, err error) {
				var epoch int64
				err = row(&id, &epoch)
				epochs[id] = epoch
				return id, err
			}, `UPDATE repository_leases
				SET replica = $1, boot = $2, epoch = epoch + 1, expires_at = {now} + $3, acquired_at = {now}
				WHERE repository_id IN (`+query.Placeholders(5, len(ids))+`)
				  AND (replica = '' OR (replica = $1 AND boot <> $2) OR expires_at + $4 < {now})
				RETURNING repository_id, epoch`, args...)
			return err
		})
	})
	return epochs, err
}

// repositoryLease is read to explain a refused statement.
type repositoryLease struct {
	epoch               int64
	expires, start, now int64
}

func (s *leaseRows) repositoryLease(ctx context.Context, repositoryID string) (repositoryLease, error) {
	l, found, err := query.One(ctx, s.db, func(row query.Scan) (l repositoryLease, err error) {
		err = row(&l.epoch, &l.expires, &l.start, &l.now)
		return l, err
	}, "SELECT epoch, expires_at, fetch_started_at, {now} FROM repository_leases WHERE repository_id = $1", repositoryID)
	if err == nil && !found {
		err = noRepository(repositoryID)
	}
	return l, err
}

// Renew extends all leases of h that have not expired, and returns them.
func (s *leaseRows) Renew(ctx context.Context, h gitcache.Holder, ttl time.Duration) (held []gitcache.Held, err error) {
	err = s.db.WriteOne(ctx, func(ctx context.Context) (err error) {
		held, err = query.All(ctx, s.db, func(row query.Scan) (one gitcache.Held, err error) {
			var kicked int64
			err = row(&one.RepositoryID, &one.Epoch, &kicked)
			one.KickRequestedAt = clock.FromMicros(kicked)
			return one, err
		}, `UPDATE repository_leases SET expires_at = {now} + $3
			WHERE replica = $1 AND boot = $2 AND expires_at > {now}
			RETURNING repository_id, epoch, kick_requested_at`, h.Replica, h.Boot, ttl.Microseconds())
		return err
	})
	slices.SortFunc(held, func(a, b gitcache.Held) int { return strings.Compare(a.RepositoryID, b.RepositoryID) })
	return held, err
}

// Release releases those leases that h holds under the given epochs, so that
// any replica may take them at once.
func (s *leaseRows) Release(ctx context.Context, epochs map[string]int64, h gitcache.Holder) error {
	// Most leases have one of a few epochs.
	byEpoch := map[int64][]string{}
	for _, id := range slices.Sorted(maps.Keys(epochs)) {
		byEpoch[epochs[id]] = append(byEpoch[epochs[id]], id)
	}
	return s.db.Write(ctx, func(ctx context.Context) error {
		for _, epoch := range slices.Sorted(maps.Keys(byEpoch)) {
			err := query.Chunks(byEpoch[epoch], func(ids []any) error {
				_, err := s.db.Exec(ctx, `UPDATE repository_leases SET replica = '', boot = '', expires_at = {now}
					WHERE replica = $1 AND boot = $2 AND epoch = $3 AND repository_id IN (`+query.Placeholders(4, len(ids))+")", append([]any{h.Replica, h.Boot, epoch}, ids...)...)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// StartFetch records that a fetch starts now. errcode.Conflict when the epoch
// is not current or the lease expired; errcode.Exhausted with RetryAfter when
// the last start is less than gap ago.
func (s *leaseRows) StartFetch(ctx context.Context, repositoryID string, epoch int64, gap time.Duration) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		started, err := query.ExecOne(ctx, s.db, `UPDATE repository_leases SET fetch_started_at = {now}, kick_requested_at = 0
			WHERE repository_id = $1 AND epoch = $2 AND expires_at > {now} AND fetch_started_at + $3 <= {now}`,
			repositoryID, epoch, gap.Microseconds())
		if err != nil || started {
			return err
		}
		l, err := s.repositoryLease(ctx, repositoryID)
		if err != nil {
			return err
		}
		if l.epoch != epoch || l.expires <= l.now {
			return staleEpoch(repositoryID, epoch)
		}
		wait := max(time.Duration(l.start-l.now)*time.Microsecond+gap, time.Microsecond)
		return errcode.New(errcode.Exhausted, "repository %s was fetched a moment ago; it is fetched again soon", repositoryID).After(wait)
	})
}

// RequestKick records a request for a fetch for the current or next holder.
func (s *leaseRows) RequestKick(ctx context.Context, repositoryID string) error {
	return s.db.Write(ctx, func(ctx context.Context) error {
		found, err := query.ExecOne(ctx, s.db, "UPDATE repository_leases SET kick_requested_at = {now} WHERE repository_id = $1", repositoryID)
		if err == nil && !found {
			err = noRepository(repositoryID)
		}
		return err
	})
}

// holdEpoch locks the lease and reports whether it has this epoch. On Postgres
// the row lock is shared: renewing all leases of a replica waits for writers of
// heads, and would fail if they had changed the row meanwhile. While a thousand
// heads are written it would never succeed.
func (s *leaseRows) holdEpoch(ctx context.Context, repositoryID string, epoch int64) (bool, error) {
	if !s.db.Postgres() {
		return query.ExecOne(ctx, s.db, "UPDATE repository_leases SET epoch = epoch WHERE repository_id = $1 AND epoch <= $2", repositoryID, epoch)
	}
	_, current, err := query.One(ctx, s.db, query.Value[int64], "SELECT epoch FROM repository_leases WHERE repository_id = $1 AND epoch <= $2 FOR SHARE", repositoryID, epoch)
	return current, err
}

// fence refuses writers of an old epoch, and keeps the lease from changing
// hands until this transaction ends.
func (s *leaseRows) fence(ctx context.Context, repositoryID string, epoch int64) error {
	current, err := s.holdEpoch(ctx, repositoryID, epoch)
	if err != nil || current {
		return err
	}
	if _, err := s.repositoryLease(ctx, repositoryID); err != nil {
		return err
	}
	return staleEpoch(repositoryID, epoch)
}

func staleEpoch(repositoryID string, epoch int64) error {
	return errcode.New(errcode.Conflict, "repository %s has a newer owner than epoch %d", repositoryID, epoch)
}
