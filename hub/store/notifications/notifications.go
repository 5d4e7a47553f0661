// Package notifications stores notification sinks, routers and messages in the hub's
// database, and reads the event log for them. hub/store embeds its Table; hub/notify
// decides what is told to whom.
//
// Invariants: a statement reads sinks and routers, of which a hub has at most 500 each,
// the messages of one sink, or a bounded number of events by their ids.
package notifications

import (
	"context"
	"strings"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/notify"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	_ notify.SinkStore   = (*Table)(nil)
	_ notify.RouterStore = (*Table)(nil)
	_ notify.LogStore    = (*Table)(nil)
	_ notify.QueueStore  = (*Table)(nil)
	_ notify.Outgoing    = (*Table)(nil)
	_ notify.InboxStore  = (*Table)(nil)
)

// Table holds all of it. Its methods are safe for concurrent use.
type Table struct{ db query.DB }

// New returns the notifications in a database.
func New(db query.DB) *Table { return &Table{db} }

// Queries are the queries that read each table, for tests.
var Queries = map[rows.Definition]string{sinkTable: selectSinks, routerTable: selectRouters, messageTable: selectMessages}

const waits = "FROM notification_messages m WHERE m.sink_id = n.id AND m.state IN ('open', 'trying')"

var (
	sinkTable = rows.Of("notification_sinks n", func(c *rows.Columns, s *notify.Sink) {
		rows.Col(c, "COALESCE(p.name, '')", &s.Project)
		rows.Flag(c, "signed", &s.Signed)
		rows.List(c, "users", &s.Users)
		rows.List(c, "user_groups", &s.UserGroups)
		rows.Col(c, "(SELECT count(*) "+waits+")", &s.Waiting)
		rows.Col(c, "(SELECT COALESCE(min(m.created_at), 0) "+waits+")", &s.OldestAt)
		rows.Fields(c, s)
	})
	selectSinks = sinkTable.Select() + "LEFT JOIN projects p ON p.id = n.project_id "
	putSink     = sinkTable.All().Keep("name", "created_at", "sent", "sent_at", "failed", "dropped", "error", "error_at").Upsert("id")

	routerTable = rows.Of("notification_routers n", func(c *rows.Columns, r *notify.Router) {
		rows.Col(c, "COALESCE(p.name, '')", &r.Project)
		rows.List(c, "events", &r.Events)
		rows.List(c, "filters", &r.Filters)
		rows.List(c, "sinks", &r.Sinks)
		rows.Fields(c, r)
	})
	selectRouters = routerTable.Select() + "LEFT JOIN projects p ON p.id = n.project_id "
	putRouter     = routerTable.All().Keep("name", "created_at").Upsert("id")

	messageTable = rows.Of("notification_messages", func(c *rows.Columns, m *notify.Message) {
		rows.JSON(c, "body", &m.Body)
		rows.Fields(c, m)
	})
	selectMessages = messageTable.Select()
	putMessage     = messageTable.All().Upsert("id")
)

// Sinks implements notify.SinkStore.
func (t *Table) Sinks(ctx context.Context) ([]notify.Sink, error) {
	return query.All(ctx, t.db, sinkTable.Reader(), selectSinks+"ORDER BY n.name")
}

// SinkByName implements notify.SinkStore.
func (t *Table) SinkByName(ctx context.Context, name string) (notify.Sink, error) {
	return query.Need(ctx, t.db, errcode.New(errcode.NotFound, "notification sink %.80q does not exist; axle notifications sinks list shows the existing ones", name), sinkTable.Reader(), selectSinks+"WHERE n.name = $1", name)
}

// PutSink implements notify.SinkStore.
func (t *Table) PutSink(ctx context.Context, s notify.Sink) error {
	_, err := putSink.Exec(ctx, t.db, &s)
	return err
}

// DeleteSink implements notify.SinkStore.
func (t *Table) DeleteSink(ctx context.Context, id string) error {
	for _, statement := range []string{"DELETE FROM notification_messages WHERE sink_id = $1", "DELETE FROM notification_sinks WHERE id = $1"} {
		if _, err := t.db.Exec(ctx, statement, id); err != nil {
			return err
		}
	}
	return nil
}

// Routers implements notify.RouterStore.
func (t *Table) Routers(ctx context.Context) ([]notify.Router, error) {
	return query.All(ctx, t.db, routerTable.Reader(), selectRouters+"ORDER BY n.name")
}

// RouterByName implements notify.RouterStore.
func (t *Table) RouterByName(ctx context.Context, name string) (notify.Router, error) {
	return query.Need(ctx, t.db, errcode.New(errcode.NotFound, "notification router %.80q does not exist; axle notifications routers list shows the existing ones", name), routerTable.Reader(), selectRouters+"WHERE n.name = $1", name)
}

// toTheEnd moves the cursor to the last event. A restored backup can be older than the
// cursor, so its row may be missing.
const (
	toTheEnd = "INSERT INTO notification_cursor (id, event) SELECT 1, (SELECT COALESCE(max(id), 0) FROM events) "
	onCursor = " ON CONFLICT (id) DO UPDATE SET event = excluded.event"
)

// PutRouter implements notify.RouterStore.
func (t *Table) PutRouter(ctx context.Context, r notify.Router) error {
	_, err := t.db.Exec(ctx, toTheEnd+"WHERE NOT EXISTS (SELECT 1 FROM notification_routers)"+onCursor)
	if err == nil {
		_, err = putRouter.Exec(ctx, t.db, &r)
	}
	return err
}

// DeleteRouter implements notify.RouterStore.
func (t *Table) DeleteRouter(ctx context.Context, id string) error {
	_, err := t.db.Exec(ctx, "DELETE FROM notification_routers WHERE id = $1", id)
	return err
}

// Cursor implements notify.LogStore.
func (t *Table) Cursor(ctx context.Context) (int64, error) {
	at, _, err := query.One(ctx, t.db, query.Value[int64], "SELECT event FROM notification_cursor WHERE id = 1")
	return at, err
}

// MoveCursor implements notify.LogStore.
func (t *Table) MoveCursor(ctx context.Context, id int64) error {
	_, err := t.db.Exec(ctx, "INSERT INTO notification_cursor (id, event) VALUES (1, $1)"+onCursor, id)
	return err
}

// Behind implements notify.LogStore. Its rows are beside that of the cursor.
func (t *Table) Behind(ctx context.Context) (map[int64]int64, error) {
	type row struct{ lane, event int64 }
	all, err := query.All(ctx, t.db, func(scan query.Scan) (r row, err error) {
		err = scan(&r.lane, &r.event)
		return r, err
	}, "SELECT id, event FROM notification_cursor WHERE id <> 1")
	out := make(map[int64]int64, len(all))
	for _, r := range all {
		out[r.lane] = r.event
	}
	return out, err
}

// MoveBehind implements notify.LogStore.
func (t *Table) MoveBehind(ctx context.Context, lane, id int64) error {
	if id == 0 {
		_, err := t.db.Exec(ctx, "DELETE FROM notification_cursor WHERE id = $1", lane)
		return err
	}
	_, err := t.db.Exec(ctx, "INSERT INTO notification_cursor (id, event) VALUES ($1, $2)"+onCursor, lane, id)
	return err
}

// Happened reads the event log. Its order is that of commits.
const Happened = `SELECT e.id, e.at, e.kind, e.object, e.actor, e.message, e.cluster, e.service, e.cause,
	COALESCE(c.name, ''), COALESCE(c.handle, ''), COALESCE(s.name, ''), COALESCE(s.project_id, ''), COALESCE(c.project_id, '')
	FROM events e LEFT JOIN clusters c ON c.id = e.cluster LEFT JOIN services s ON s.id = e.service
	WHERE e.id > $1 ORDER BY e.id LIMIT $2`

// HappenedAfter implements notify.LogStore.
func (t *Table) HappenedAfter(ctx context.Context, id int64, limit int) ([]notify.Happened, error) {
	return query.All(ctx, t.db, func(row query.Scan) (h notify.Happened, err error) {
		e := &h.Entry
		err = row(&e.ID, &e.At, &e.Kind, &e.Object, &e.By, &e.Message, &e.Cluster, &e.Service, &e.Cause,
			&h.ClusterName, &h.ClusterHandle, &h.ServiceName, &h.ServiceProject, &h.ClusterProject)
		return h, err
	}, Happened, id, limit)
}

// The queries of one sink's messages, and of those that are over, for tests of their plans.
var (
	OfTopic = selectMessages + "WHERE sink_id = $1 AND topic = $2 AND created_at >= $3 ORDER BY created_at DESC LIMIT 1"
	Due     = selectMessages + "WHERE sink_id = $1 AND state IN ('open', 'trying') AND due_at <= $2 ORDER BY due_at LIMIT $3"
	Shown   = selectMessages + "WHERE sink_id = $1 AND state = 'sent' AND sent_at < $2 ORDER BY sent_at DESC LIMIT $3"
	Old     = "SELECT id FROM notification_messages WHERE created_at < $1 AND state IN ('sent', 'failed') ORDER BY created_at LIMIT $2"
)

// OfTopic implements notify.QueueStore.
func (t *Table) OfTopic(ctx context.Context, sinkID, topic string, since int64) (notify.Message, bool, error) {
	return query.One(ctx, t.db, messageTable.Reader(), OfTopic, sinkID, topic, since)
}

// PutMessage implements notify.QueueStore.
func (t *Table) PutMessage(ctx context.Context, m notify.Message) error {
	_, err := putMessage.Exec(ctx, t.db, &m)
	return err
}

// DropOldest implements notify.QueueStore.
func (t *Table) DropOldest(ctx context.Context, sinkID string, keep int) (int64, error) {
	n, err := t.db.Exec(ctx, `DELETE FROM notification_messages WHERE id IN (SELECT id FROM notification_messages
		WHERE sink_id = $1 AND state IN ('open', 'trying') ORDER BY created_at DESC, id DESC LIMIT 1000000 OFFSET $2)`, sinkID, keep)
	if err == nil && n > 0 {
		_, err = t.db.Exec(ctx, "UPDATE notification_sinks SET dropped = dropped + $2 WHERE id = $1", sinkID, n)
	}
	return n, err
}

// Due implements notify.Outgoing.
func (t *Table) Due(ctx context.Context, sinkID string, now int64, limit int) ([]notify.Message, error) {
	return query.All(ctx, t.db, messageTable.Reader(), Due, sinkID, now, limit)
}

// MessageByID implements notify.Outgoing.
func (t *Table) MessageByID(ctx context.Context, id string) (notify.Message, bool, error) {
	return query.One(ctx, t.db, messageTable.Reader(), selectMessages+"WHERE id = $1", id)
}

// Finish implements notify.Outgoing.
func (t *Table) Finish(ctx context.Context, m notify.Message, attempts int64) error {
	held, err := query.ExecOne(ctx, t.db, `UPDATE notification_messages SET state = $2, due_at = $3, attempts = $4, error = $5, sent_at = $6
		WHERE id = $1 AND attempts = $7 AND state IN ('open', 'trying')`, m.ID, string(m.State), m.DueAt, m.Attempts, m.Error, m.SentAt, attempts)
	if err == nil && !held {
		return errcode.New(errcode.Conflict, "notification %s was sent by another replica, or is gone", m.ID)
	}
	if err != nil || m.Attempts != attempts {
		return err // the attempt begins
	}
	counters := map[notify.MessageState]string{notify.Sent: "sent = sent + 1, sent_at = {now}, error = $2", notify.Failed: "failed = failed + 1, error = $2, error_at = {now}"}
	set, over := counters[m.State]
	if !over {
		set = "error = $2, error_at = {now}"
	}
	_, err = t.db.Exec(ctx, "UPDATE notification_sinks SET "+set+" WHERE id = $1", m.SinkID, m.Error)
	return err
}

// PruneMessages implements notify.Outgoing.
func (t *Table) PruneMessages(ctx context.Context, before int64, limit int) (int64, error) {
	return t.db.Exec(ctx, "DELETE FROM notification_messages WHERE id IN ("+Old+")", before, limit)
}

// Restored drops what waits, because the database is another one than the messages were
// made for, and counts it. What happened before is told to nobody.
func (t *Table) Restored(ctx context.Context) error {
	for _, statement := range []string{
		`UPDATE notification_sinks SET dropped = dropped + (SELECT count(*) FROM notification_messages m
			WHERE m.sink_id = notification_sinks.id AND m.state IN ('open', 'trying'))`,
		"DELETE FROM notification_messages WHERE state IN ('open', 'trying')",
		toTheEnd + "WHERE 1 = 1" + onCursor,
		"DELETE FROM notification_cursor WHERE id <> 1",
	} {
		if _, err := t.db.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Shown implements notify.InboxStore.
func (t *Table) Shown(ctx context.Context, sinkID string, before int64, limit int) ([]notify.Message, error) {
	return query.All(ctx, t.db, messageTable.Reader(), Shown, sinkID, before, limit)
}

// Scopes implements notify.InboxStore.
func (t *Table) Scopes(ctx context.Context, services, clusters []string) (map[string]identity.Scope, error) {
	scopes := map[string]identity.Scope{}
	read := func(statement string, ids []string) error {
		return query.Chunks(ids, func(args []any) error {
			return t.db.Each(ctx, strings.Replace(statement, "%", query.Placeholders(1, len(args)), 1), args, func(row query.Scan) error {
				var s identity.Scope
				err := row(&s.Service, &s.Project, &s.Cluster, &s.ClusterProject)
				id := s.Service
				if id == "" {
					id = s.Cluster
				}
				scopes[id] = s
				return err
			})
		})
	}
	err := read("SELECT s.id, s.project_id, s.cluster_id, COALESCE(c.project_id, '') FROM services s LEFT JOIN clusters c ON c.id = s.cluster_id WHERE s.id IN (%)", services)
	if err == nil {
		err = read("SELECT '', c.project_id, c.id, '' FROM clusters c WHERE c.id IN (%)", clusters)
	}
	return scopes, err
}

// ReadUpTo implements notify.InboxStore.
func (t *Table) ReadUpTo(ctx context.Context, userID string) (int64, error) {
	at, _, err := query.One(ctx, t.db, query.Value[int64], "SELECT up_to FROM notification_reads WHERE user_id = $1", userID)
	return at, err
}

// MarkRead implements notify.InboxStore.
func (t *Table) MarkRead(ctx context.Context, userID string, upTo int64) error {
	_, err := t.db.Exec(ctx, `INSERT INTO notification_reads (user_id, up_to) VALUES ($1, $2)
		ON CONFLICT (user_id) DO UPDATE SET up_to = excluded.up_to WHERE notification_reads.up_to < excluded.up_to`, userID, upTo)
	return err
}
