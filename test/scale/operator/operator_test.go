package operator_test

import (
	"context"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/scale/operator"
)

// Sixty custom resources are measured as five thousand are, of kinds without agents. What
// does not depend on their number is checked: an edit costs a few calls, a restart none.
func TestOperatorCallsForChangesAlone(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	got, err := operator.Measure(ctx, operator.Config{Resources: 60, Idle: time.Second, Progress: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if got.Resources != 60 || got.LoadCalls < got.Resources || got.LoadCPU <= 0 || got.RSS <= 0 {
		t.Errorf("load: %+v", got)
	}
	// An edit reads its object and writes it; a check of the repository may fall into the time.
	if got.EditCalls < 2 || got.EditCalls > 6 {
		t.Errorf("an edit made %d calls, want 2 to 6: %+v", got.EditCalls, got)
	}
	if got.RestartCalls < 2 || got.RestartCalls > 6 {
		t.Errorf("a restart made %d calls, want those of one edit: %+v", got.RestartCalls, got)
	}
}
