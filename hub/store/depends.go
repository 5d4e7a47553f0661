package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store/sqldb"
)

// lockUnchanged is lockHead for a transaction that called event.DependsOn. It
// returns sqldb.ErrOvertaken when the feed shows a change to what it named
// since the transaction took its snapshot.
//
// Postgres detects two transactions that write one row, but not two of which
// each reads what the other writes: a service that is created with slightly old
// heads, and a head that updates a slightly old set of services, would miss
// each other, and the service would wait for the next commit. The feed's lock
// orders all commits, and its rows say what each changed, so the later of the
// two sees the earlier. SQLite runs one transaction at a time.
func (s *Store) lockUnchanged(ctx context.Context, dependencies []event.Change) (head, error) {
	if len(dependencies) == 0 || !s.db.Postgres() {
		return s.lockHead(ctx)
	}
	view, err := s.readHead(ctx, transaction(ctx))
	if err != nil {
		return head{}, err
	}
	end, err := s.lockHead(ctx)
	if err != nil || end.sequence == view.sequence && end.incarnation == view.incarnation {
		return end, err
	}
	between, err := s.changesBetween(ctx, view, end)
	if err != nil {
		return head{}, err
	}
	for _, r := range between {
		if slices.ContainsFunc(dependencies, func(c event.Change) bool { return c.Matches(r.Change) }) {
			return head{}, sqldb.ErrOvertaken
		}
	}
	return end, nil
}

// changesBetween reads what was committed between a snapshot and the end of the
// feed, over the connection of the lock's holder.
func (s *Store) changesBetween(ctx context.Context, view, end head) (between []event.Row, err error) {
	if end.incarnation != view.incarnation {
		return nil, sqldb.ErrOvertaken
	}
	rows, err := s.db.Pools.Head.QueryContext(ctx, `SELECT sequence, committed_at, changes FROM outbox
		WHERE incarnation = $1 AND sequence > $2 AND sequence <= $3 ORDER BY sequence`, end.incarnation, view.sequence, end.sequence)
	if err != nil {
		return nil, s.db.Coded(fmt.Errorf("read the feed since the transaction began: %w", err))
	}
	defer rows.Close()
	next := view.sequence
	for rows.Next() {
		var r outboxRow
		if err := rows.Scan(&r.sequence, &r.at, &r.changes); err != nil {
			return nil, err
		}
		if next++; r.sequence != next {
			return nil, sqldb.ErrOvertaken
		}
		more, err := r.rows()
		if err != nil {
			return nil, err
		}
		between = append(between, more...)
	}
	return between, errors.Join(rows.Err(), rows.Close())
}
