package store

import (
	"context"
	"time"

	"github.com/axle-cd/axle/hub/peer"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

var _ peer.MemberStore = (*Store)(nil)

// replicasKept is how long the row of a removed replica is kept.
const replicasKept = 7 * 24 * time.Hour

// member is a replica with the times that its state is computed from.
type member struct {
	peer.Replica
	seen, draining, now int64
}

var (
	replicaTable = rows.Of("replicas", func(c *rows.Columns, r *member) {
		rows.Col(c, "seen_at", &r.seen)
		rows.Col(c, "draining_until", &r.draining)
		rows.Col(c, "incarnation", &r.Position.Incarnation)
		rows.Col(c, "sequence", &r.Position.Sequence)
		rows.Duration(c, "feed_age", &r.FeedAge)
		rows.Col(c, "{now}", &r.now)
		rows.FieldsBut(c, r, &r.Replica.SeenAt, &r.Replica.DrainingUntil, &r.Replica.Alive, &r.Replica.Present)
	})
	selectReplicas = replicaTable.Select()
	heartbeat      = heartbeatUntil("0")
	// lastHeartbeat gets the time for which the replica still runs.
	lastHeartbeat = heartbeatUntil("{now} + {1}")
)

// heartbeatUntil writes a replica's row. A restarted replica is no longer leaving.
func heartbeatUntil(draining string) rows.Statement[member] {
	beat := replicaTable.Except("leaving").Set("seen_at", "{now}").Set("draining_until", draining)
	return beat.Insert(beat.OrReplace("name") + ", leaving = CASE WHEN replicas.started_at = excluded.started_at THEN replicas.leaving ELSE 0 END")
}

// Heartbeat writes a replica's row. A restarted replica is no longer draining:
// its operator wants it to take part.
func (s *Store) Heartbeat(ctx context.Context, r peer.Replica, drain time.Duration) error {
	return s.db.WriteOne(ctx, func(ctx context.Context) error {
		statement, args := heartbeat, []any(nil)
		if drain > 0 {
			statement, args = lastHeartbeat, []any{drain.Microseconds()}
		}
		_, err := wrote(ctx, s, statement, &member{Replica: r}, args...)
		return err
	})
}

// Replicas returns all known replicas, in order of name.
func (s *Store) Replicas(ctx context.Context, within time.Duration) ([]peer.Replica, error) {
	read := replicaTable.Reader()
	return rowsOf(ctx, s, func(row scan) (peer.Replica, error) {
		m, err := read(row)
		m.SeenAt, m.DrainingUntil = clock.FromMicros(m.seen), clock.FromMicros(m.draining)
		m.Alive = m.draining == 0 && m.seen > m.now-within.Microseconds()
		m.Present = m.Alive || (m.draining > m.now && !m.Leaving)
		return m.Replica, err
	}, selectReplicas+"ORDER BY name")
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
