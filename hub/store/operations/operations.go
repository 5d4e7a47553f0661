// Package operations stores operations on many services and their targets in the
// hub's database. hub/store embeds its Table; hub/operations decides what happens.
//
// Invariants: no statement reads or writes more than one page of targets, but for
// the beginning and the cancelling of an operation, which write each once.
package operations

import (
	"context"

	"github.com/axle-cd/axle/hub/operations"
	"github.com/axle-cd/axle/hub/store/query"
	"github.com/axle-cd/axle/hub/store/rows"
	"github.com/axle-cd/axle/internal/errcode"
)

var (
	_ operations.OperationStore = (*Table)(nil)
	_ operations.TargetStore    = (*Table)(nil)
	_ operations.WorkStore      = (*Table)(nil)
)

// Table holds all operations. Its methods are safe for concurrent use.
type Table struct{ db query.DB }

// New returns the operations in a database.
func New(db query.DB) *Table { return &Table{db} }

// Queries are the queries that read each table, for tests.
var Queries = map[rows.Definition]string{operationTable: selectOperations, targetTable: selectTargets}

var (
	operationTable = rows.Of("operations", func(c *rows.Columns, o *operations.Operation) {
		rows.Col(c, "actor", &o.By)
		rows.Fields(c, o)
	})
	selectOperations = operationTable.Select()
	insertOperation  = operationTable.All().Insert("")
	endOperation     = operationTable.Only("id", "state", "updated_at", "ended_at").Statement(
		"UPDATE operations SET state = {state}, updated_at = {updated_at}, ended_at = {ended_at} WHERE id = {id} AND state = 'Running'")

	targetTable   = rows.Of("operation_targets", rows.Fields[operations.Target])
	selectTargets = targetTable.Select()
	insertTargets = targetTable.All().Set("rank", "1").InsertMany("")
	settleTarget  = targetTable.Only("operation_id", "position", "state", "message", "at").Statement(
		"UPDATE operation_targets SET state = {state}, message = {message}, at = {at}, rank = {1} WHERE operation_id = {operation_id} AND position = {position} AND state = 'Waiting'")
)

// The queries of lists, for a test of their plans.
var (
	Newest  = selectOperations + "WHERE (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3"
	OfActor = selectOperations + "WHERE actor_id = $4 AND (created_at, id) < ($1, $2) ORDER BY created_at DESC, id DESC LIMIT $3"
	Running = selectOperations + "WHERE state = 'Running'"
	Listed  = selectTargets + "WHERE operation_id = $1 AND (rank, position) > ($2, $3) ORDER BY rank, position LIMIT $4"
	// ListedFailed are the failed ones alone.
	ListedFailed = selectTargets + "WHERE operation_id = $1 AND rank = 0 AND position > $2 ORDER BY position LIMIT $3"
	Waiting      = selectTargets + "WHERE operation_id = $1 AND state = 'Waiting' ORDER BY position LIMIT $2"
	// Old is the operation that ended first.
	Old = "SELECT id FROM operations WHERE ended_at > 0 AND ended_at < $1 ORDER BY ended_at LIMIT 1"
)

// end is after every time.
const end = int64(1) << 62

// InsertOperation implements operations.OperationStore.
func (t *Table) InsertOperation(ctx context.Context, o operations.Operation, targets []operations.Target) error {
	if _, err := insertOperation.Exec(ctx, t.db, &o); err != nil {
		return err
	}
	_, err := insertTargets.Exec(ctx, t.db, targets)
	return err
}

// Operation implements operations.OperationStore.
func (t *Table) Operation(ctx context.Context, id string) (operations.Operation, error) {
	return query.Need(ctx, t.db, errcode.New(errcode.NotFound, "operation %.80q does not exist; axle operations list shows those of the last 30 days", id), operationTable.Reader(), selectOperations+"WHERE id = $1", id)
}

// ListOperations implements operations.OperationStore.
func (t *Table) ListOperations(ctx context.Context, actorID string, after *operations.Operation, limit int) ([]operations.Operation, error) {
	at, id := end, ""
	if after != nil {
		at, id = after.CreatedAt, after.ID
	}
	if actorID == "" {
		return query.All(ctx, t.db, operationTable.Reader(), Newest, at, id, limit)
	}
	return query.All(ctx, t.db, operationTable.Reader(), OfActor, at, id, limit, actorID)
}

// RunningOperations implements operations.OperationStore.
func (t *Table) RunningOperations(ctx context.Context, actorID string) (int, error) {
	all, err := query.All(ctx, t.db, operationTable.Reader(), Running+" AND actor_id = $1", actorID)
	return len(all), err
}

// OperationTargets implements operations.TargetStore.
func (t *Table) OperationTargets(ctx context.Context, operationID string, after operations.Place, failedOnly bool, limit int) ([]operations.Target, error) {
	if failedOnly {
		return query.All(ctx, t.db, targetTable.Reader(), ListedFailed, operationID, after.Position, limit)
	}
	return query.All(ctx, t.db, targetTable.Reader(), Listed, operationID, after.Rank, after.Position, limit)
}

// FailedTargets implements operations.TargetStore.
func (t *Table) FailedTargets(ctx context.Context, operationID string) ([]string, error) {
	return query.All(ctx, t.db, query.Value[string], "SELECT service_id FROM operation_targets WHERE operation_id = $1 AND rank = 0 ORDER BY position", operationID)
}

// NextOperation implements operations.WorkStore.
func (t *Table) NextOperation(ctx context.Context, skipped []string) (operations.Operation, bool, error) {
	args := make([]any, len(skipped))
	for i, id := range skipped {
		args[i] = id
	}
	but := ""
	if len(args) > 0 {
		but = " AND id NOT IN (" + query.Placeholders(1, len(args)) + ")"
	}
	return query.One(ctx, t.db, operationTable.Reader(), Running+but+" ORDER BY created_at, id LIMIT 1", args...)
}

// WaitingTargets implements operations.WorkStore.
func (t *Table) WaitingTargets(ctx context.Context, operationID string, limit int) ([]operations.Target, error) {
	return query.All(ctx, t.db, targetTable.Reader(), Waiting, operationID, limit)
}

// SettleTarget implements operations.WorkStore.
func (t *Table) SettleTarget(ctx context.Context, target operations.Target) error {
	settled, err := settleTarget.ExecOne(ctx, t.db, &target, target.Rank())
	if err == nil && !settled {
		err = errcode.New(errcode.Conflict, "target %d of operation %s does not wait any more", target.Position, target.OperationID)
	}
	if err != nil {
		return err
	}
	column := "done"
	if target.State == operations.TargetFailed {
		column = "failed"
	}
	return query.ExecElse(ctx, t.db, errcode.New(errcode.Conflict, "operation %s has ended", target.OperationID), "UPDATE operations SET "+column+" = "+column+" + 1, updated_at = $2 WHERE id = $1 AND state = 'Running'", target.OperationID, target.At)
}

// EndOperation implements operations.WorkStore.
func (t *Table) EndOperation(ctx context.Context, o operations.Operation) error {
	ended, err := endOperation.ExecOne(ctx, t.db, &o)
	if err == nil && !ended {
		err = errcode.New(errcode.Conflict, "operation %s has ended", o.ID)
	}
	if err != nil {
		return err
	}
	_, err = t.db.Exec(ctx, "UPDATE operation_targets SET state = 'Cancelled', at = $2 WHERE operation_id = $1 AND state = 'Waiting'", o.ID, o.EndedAt)
	return err
}

// DropOperation deletes up to limit targets of the operation that ended first and
// before a time, and with the last ones the operation, in the transaction of ctx.
// It returns limit while there may be more to delete.
func (t *Table) DropOperation(ctx context.Context, before int64, limit int64) (int64, error) {
	id, found, err := query.One(ctx, t.db, query.Value[string], Old, before)
	if err != nil || !found {
		return 0, err
	}
	n, err := t.db.Exec(ctx, `DELETE FROM operation_targets WHERE operation_id = $1
		AND position < (SELECT min(position) FROM operation_targets WHERE operation_id = $1) + $2`, id, limit)
	if err != nil || n == limit {
		return n, err
	}
	_, err = t.db.Exec(ctx, "DELETE FROM operations WHERE id = $1", id)
	return limit, err
}
