package store_test

import (
	"context"
	"testing"

	"github.com/axle-cd/axle/hub/event"
	"github.com/axle-cd/axle/hub/store/storetest"
)

// DependsOn works for a part of a batch as for a separate transaction.
func TestPartOfABatchDependsOn(t *testing.T) {
	s := storetest.Postgres(t).Open(t)
	runs, other := 0, event.Change{Kind: event.KindProject, Key: "other"}
	err := s.WriteBatched(t.Context(), func(ctx context.Context) error {
		// The view begins with the first question.
		if _, err := s.Position(ctx); err != nil {
			return err
		}
		if runs++; runs == 1 {
			if err := s.Write(t.Context(), func(ctx context.Context) error { return event.Append(ctx, other) }); err != nil {
				return err
			}
		}
		if err := event.DependsOn(ctx, event.Change{Kind: event.KindProject}); err != nil {
			return err
		}
		return event.Append(ctx, event.Change{Kind: event.KindProject, Key: "mine"})
	})
	if err != nil || runs != 2 {
		t.Errorf("%d runs, %v", runs, err)
	}
}
