package operations

import "context"

// Store stores operations. Methods that change something run in the transaction
// of the context. NotFound when an operation does not exist.
type Store struct {
	Operations OperationStore
	Targets    TargetStore
	Work       WorkStore
}

// OperationStore reads and begins operations.
type OperationStore interface {
	InsertOperation(ctx context.Context, o Operation, targets []Target) error
	Operation(ctx context.Context, id string) (Operation, error)
	// ListOperations returns up to limit operations, newest first, those of an
	// actor or, when the id is empty, all; after continues after one.
	ListOperations(ctx context.Context, actorID string, after *Operation, limit int) ([]Operation, error)
	// RunningOperations counts those of an actor that run.
	RunningOperations(ctx context.Context, actorID string) (int, error)
}

// TargetStore reads targets.
type TargetStore interface {
	// OperationTargets returns up to limit targets after a place, failed ones
	// first.
	OperationTargets(ctx context.Context, operationID string, after Place, failedOnly bool, limit int) ([]Target, error)
	// FailedTargets returns the services of all failed targets.
	FailedTargets(ctx context.Context, operationID string) (serviceIDs []string, err error)
}

// WorkStore is what working operations off needs.
type WorkStore interface {
	// NextOperation returns the oldest that runs and was not skipped.
	NextOperation(ctx context.Context, skipped []string) (o Operation, found bool, err error)
	// WaitingTargets returns up to limit targets that wait, in order.
	WaitingTargets(ctx context.Context, operationID string, limit int) ([]Target, error)
	// SettleTarget writes the end of a target that waits, and counts it. Conflict
	// when it does not wait any more.
	SettleTarget(ctx context.Context, t Target) error
	// EndOperation ends an operation that runs, and cancels the targets that
	// still wait. Conflict when it has ended.
	EndOperation(ctx context.Context, o Operation) error
}

// Writer runs transactions.
type Writer interface {
	Write(ctx context.Context, fn func(ctx context.Context) error) error
}
