package store

import (
	"context"
	"strings"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/store/rows"
)

var (
	eventTable = rows.Of("events", func(c *rows.Columns, e *event.Entry) {
		rows.Col(c, "actor", &e.By)
		rows.Fields(c, e)
	})
	selectEvents = eventTable.Select()
	insertEvents = eventTable.All().InsertMany("")
)

// insertEvents writes events after the last id, which the feed's lock protects.
func (s *Store) insertEvents(ctx context.Context, entries []event.Entry, last, now int64) error {
	numbered := make([]event.Entry, len(entries))
	for i, e := range entries {
		if e.ID = last + int64(i) + 1; e.At == 0 {
			e.At = now
		}
		numbered[i] = e
	}
	_, err := insertEvents.Exec(ctx, s.db, numbered)
	return err
}

// EventFilter narrows Events. The zero value selects the newest hundred.
type EventFilter struct {
	// Cluster and Service are ids; empty selects all.
	Cluster string
	Service string
	// After selects events with a greater id, Before those with a smaller one; 0 is
	// all.
	After  int64
	Before int64
	// Limit is 100 when zero, at most 1,000.
	Limit int
	// Reach leaves out events about objects that the caller may not see, and
	// those about no cluster or service unless the caller may see everything;
	// nil leaves out nothing.
	Reach *identity.Reach
}

// Events returns events, newest first.
func (s *Store) Events(ctx context.Context, f EventFilter) ([]event.Entry, error) {
	if f.Limit <= 0 {
		f.Limit = 100
	}
	where, args := []string{"id > $1"}, []any{f.After, min(f.Limit, 1000)}
	if f.Before > 0 {
		args = append(args, f.Before)
		where = append(where, "id < "+placeholders(len(args), 1))
	}
	if f.Cluster != "" {
		args = append(args, f.Cluster)
		where = append(where, "cluster = "+placeholders(len(args), 1))
	}
	if f.Service != "" {
		args = append(args, f.Service)
		where = append(where, "service = "+placeholders(len(args), 1))
	}
	switch {
	case f.Reach == nil || f.Reach.All():
	case f.Reach.Hub():
		// What is about nothing that exists stays.
		where = append(where, "cluster NOT IN (SELECT wc.id FROM clusters wc WHERE "+forAdministrators("wc.project_id")+")",
			"service NOT IN (SELECT ws.id FROM services ws LEFT JOIN clusters wc ON wc.id = ws.cluster_id WHERE "+forAdministrators("ws.project_id")+" OR "+forAdministrators("wc.project_id")+")")
	default:
		var clusters, services string
		clusters, args = within(*f.Reach, "wc", "", args)
		services, args = servicesWithin(*f.Reach, args)
		where = append(where, "(cluster IN (SELECT wc.id FROM clusters wc WHERE "+clusters+") OR service IN ("+services+"))")
	}
	return rowsOf(ctx, s, eventTable.Reader(), selectEvents+"WHERE "+strings.Join(where, " AND ")+" ORDER BY id DESC LIMIT $2", args...)
}
