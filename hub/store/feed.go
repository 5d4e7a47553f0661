package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store/sqldb"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// head is the end of the feed and of the events.
type head struct {
	incarnation string
	sequence    int64
	at          int64
	event       int64
}

const selectHead = `
SELECT i.id,
       COALESCE((SELECT max(o.sequence) FROM outbox o WHERE o.incarnation = i.id), 0),
       COALESCE((SELECT o.committed_at FROM outbox o WHERE o.incarnation = i.id ORDER BY o.sequence DESC LIMIT 1), i.started_at),
       COALESCE((SELECT max(e.id) FROM events e), 0)
FROM incarnations i ORDER BY i.id DESC LIMIT 1`

// lockHead takes the feed's lock for the rest of the transaction of ctx and
// returns the end of the feed. Until this transaction ends, no other one can
// commit a row, so the next sequence is the next commit. (Without the lock, the
// primary key would refuse the second of two equal sequences, and that
// transaction would have to be retried.)
//
// The transaction's own snapshot is older than the lock and may miss rows, so
// on Postgres the end is read over another connection. One connection is
// enough: only the holder of the lock uses it. SQLite runs one transaction at a
// time anyway.
func (s *Store) lockHead(ctx context.Context) (h head, err error) {
	var from sqldb.Runner = transaction(ctx)
	if s.db.Postgres() {
		if _, err := s.exec(ctx, "SELECT pg_advisory_xact_lock($1)", sqldb.FeedLock); err != nil {
			return h, fmt.Errorf("lock the change feed: %w", err)
		}
		from = s.db.Pools.Head
	}
	return s.readHead(ctx, from)
}

func (s *Store) readHead(ctx context.Context, from sqldb.Runner) (h head, err error) {
	rows, err := from.QueryContext(ctx, selectHead)
	if err != nil {
		return h, s.db.Coded(fmt.Errorf("read the end of the feed: %w", err))
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return h, s.db.Coded(fmt.Errorf("read the end of the feed: %w", err))
		}
		return h, errcode.New(errcode.Internal, "the database has no incarnation")
	}
	err = rows.Scan(&h.incarnation, &h.sequence, &h.at, &h.event)
	return h, errors.Join(err, rows.Close())
}

// change is the stored form of a Change in the outbox.
type change struct {
	Kind    event.Kind `json:"k"`
	Key     string     `json:"i"`
	Cluster string     `json:"c,omitempty"`
}

// appendFeed writes what the transaction collected as its last statements: its
// events, and one feed row with all its changes. It returns the row's position,
// zero when there were no changes.
func (s *Store) appendFeed(ctx context.Context, collected *event.Collector) (event.Position, error) {
	changes, entries := collected.Changes(), collected.Entries()
	if len(changes) == 0 && len(entries) == 0 {
		return event.Position{}, nil
	}
	h, err := s.lockUnchanged(ctx, collected.Dependencies())
	if err != nil {
		return event.Position{}, err
	}
	now := clock.Micros(s.clock.Now())
	if err := s.insertEvents(ctx, entries, h.event, now); err != nil {
		return event.Position{}, fmt.Errorf("write events: %w", err)
	}
	if len(changes) == 0 {
		return event.Position{}, nil
	}
	position := event.Position{Incarnation: h.incarnation, Sequence: h.sequence + 1}
	return position, s.insertChanges(ctx, position, now, changes)
}

func (s *Store) insertChanges(ctx context.Context, at event.Position, now int64, changes []event.Change) error {
	kept := make([]change, len(changes))
	for i, c := range changes {
		kept[i] = change{c.Kind, cleanText(c.Key), cleanText(c.Cluster)}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("encode changes: %w", err)
	}
	_, err = s.exec(ctx, "INSERT INTO outbox (incarnation, sequence, committed_at, changes) VALUES ($1, $2, $3, $4)", at.Incarnation, at.Sequence, now, string(text))
	if err != nil {
		return fmt.Errorf("append to the feed: %w", err)
	}
	return nil
}

// LastSequence returns the highest sequence of the current incarnation.
func (s *Store) LastSequence(ctx context.Context) (int64, error) {
	h, err := s.readHead(ctx, s.db.Reader(ctx))
	return h.sequence, err
}

// Position returns the end of the feed as the reads of ctx see it.
func (s *Store) Position(ctx context.Context) (event.Position, error) {
	h, err := s.readHead(ctx, s.db.Reader(ctx))
	return event.Position{Incarnation: h.incarnation, Sequence: h.sequence}, err
}

// outboxRow is one transaction's changes.
type outboxRow struct {
	sequence, at int64
	changes      string
}

// ChangesAfter returns the rows of up to limit transactions above the sequence.
// The changes of one transaction share its sequence and are never split.
// Dropped rows are event.ErrTruncated.
func (s *Store) ChangesAfter(ctx context.Context, sequence int64, limit int) ([]event.Row, error) {
	found, err := rowsOf(ctx, s, func(row scan) (r outboxRow, err error) {
		err = row(&r.sequence, &r.at, &r.changes)
		return r, err
	}, `SELECT sequence, committed_at, changes FROM outbox
		WHERE incarnation = (SELECT max(id) FROM incarnations) AND sequence > $1
		ORDER BY sequence LIMIT $2`, sequence, limit)
	if err != nil {
		return nil, fmt.Errorf("read the feed: %w", err)
	}
	if len(found) > 0 && found[0].sequence != sequence+1 {
		return nil, event.ErrTruncated
	}
	var rows []event.Row
	for _, r := range found {
		more, err := r.rows()
		if err != nil {
			return nil, err
		}
		for _, row := range more {
			rows = append(rows, row)
			if rows, err = s.followers(ctx, rows, row); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// followers adds each service that a change represents: those that follow the
// source now. A service that stopped following it has its own change.
func (s *Store) followers(ctx context.Context, rows []event.Row, change event.Row) ([]event.Row, error) {
	source, after, last, ok := change.Followers()
	if !ok {
		return rows, nil
	}
	err := s.each(ctx, `SELECT id, cluster_id FROM services WHERE source_id = $1 AND id > $2 AND id <= $3
		UNION SELECT s.id, s.cluster_id FROM service_sources f JOIN services s ON s.id = f.service_id
			WHERE f.source_id = $1 AND f.service_id > $2 AND f.service_id <= $3 ORDER BY 1`, []any{source, after, last}, func(row scan) error {
		one := event.Row{Change: event.Change{Kind: event.KindService}, Sequence: change.Sequence, At: change.At}
		err := row(&one.Key, &one.Cluster)
		rows = append(rows, one)
		return err
	})
	return rows, err
}

func (r outboxRow) rows() ([]event.Row, error) {
	var changes []change
	if err := json.Unmarshal([]byte(r.changes), &changes); err != nil {
		return nil, fmt.Errorf("decode feed row %d: %w", r.sequence, err)
	}
	rows := make([]event.Row, len(changes))
	for i, c := range changes {
		rows[i] = event.Row{Change: event.Change{Kind: c.Kind, Key: c.Key, Cluster: c.Cluster}, Sequence: r.sequence, At: r.at}
	}
	return rows, nil
}

var (
	_ event.Store    = (*Store)(nil)
	_ event.Repairer = (*Store)(nil)
)
