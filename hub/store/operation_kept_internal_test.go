package store

import (
	"context"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/operations"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

// An operation is kept for 30 days after its end, and goes with its targets.
func TestOperationsAreKeptFor30Days(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		now := s.clock.Now()
		const targets = 2*retentionChunk + 1
		for id, ended := range map[string]time.Duration{"op_old": -31 * 24 * time.Hour, "op_new": -29 * 24 * time.Hour, "op_runs": 0} {
			o := operations.Operation{ID: id, Action: operations.Sync, State: operations.Done, Total: targets, CreatedAt: clock.Micros(now.Add(-60 * 24 * time.Hour)), EndedAt: clock.Micros(now.Add(ended))}
			if ended == 0 {
				o.State, o.EndedAt = operations.Running, 0
			}
			all := make([]operations.Target, targets)
			for i := range all {
				all[i] = operations.Target{OperationID: id, Position: int64(i + 1), ServiceID: "svc", State: operations.TargetDone}
			}
			if err := s.Write(t.Context(), func(ctx context.Context) error { return s.InsertOperation(ctx, o, all) }); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]int{"op_old": 0, "op_new": targets, "op_runs": targets} {
			_, err := s.Operation(t.Context(), id)
			if gone := errcode.Is(err, errcode.NotFound); gone != (want == 0) {
				t.Errorf("%s: %v", id, err)
			}
			if all, err := s.OperationTargets(t.Context(), id, operations.Place{}, false, 10_000); err != nil || len(all) != want {
				t.Errorf("%s has %d targets, want %d; %v", id, len(all), want, err)
			}
		}
	})
}
