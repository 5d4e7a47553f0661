package store

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/clock"
)

// Databases make databases with the tables, by kind. The tests outside of the package
// set it: storetest imports this package.
var Databases map[string]func(tb testing.TB) Config

// Disconnect ends the connections that are not in use; the next statements
// make new ones.
func (s *Store) Disconnect() {
	for _, pool := range []*sql.DB{s.db.Pools.Write, s.db.Pools.Read, s.db.Pools.Head} {
		pool.SetMaxIdleConns(0)
		pool.SetMaxIdleConns(12)
	}
}

// Trace calls fn for each statement from now on; nil ends it.
func (s *Store) Trace(fn func(statement string, args []any)) { s.db.Trace = fn }

// HeldBy returns how many repositories a replica has held continuously since it
// first acquired them, and when the earliest of its leases expires.
func (s *Store) HeldBy(ctx context.Context, replica string) (n int, until time.Time, err error) {
	held, _, err := rowOf(ctx, s, func(row scan) (v [2]int64, err error) {
		err = row(&v[0], &v[1])
		return v, err
	}, "SELECT count(*), COALESCE(min(expires_at), 0) FROM repository_leases WHERE replica = $1 AND epoch = 1 AND expires_at > {now}", replica)
	return int(held[0]), clock.FromMicros(held[1]), err
}
