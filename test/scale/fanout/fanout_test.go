package fanout_test

import (
	"context"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/pg"
	"github.com/axle-cd/axle/test/scale/fanout"
)

func TestMain(m *testing.M) { pg.Main(m) }

// Sixty clusters are measured as thousands are, without agents. A commit writes a row
// for each target and little more.
func TestChangeOfAGlobalServiceIsMeasured(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	const clusters = 60
	got, err := fanout.Measure(ctx, fanout.Config{Clusters: clusters, Progress: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	// The kernel counts in hundredths of a second, and one change can take less.
	if got.Change.HubCPU+got.Edit.HubCPU <= 0 {
		t.Errorf("the hub took no CPU: %+v", got)
	}
	for what, c := range map[string]fanout.Change{"commit": got.Change, "edit": got.Edit} {
		if c.Feed < 1 || c.Seconds <= 0 {
			t.Errorf("%s: %+v", what, c)
		}
		// The edit writes each target's row twice: what it declares, and its revision.
		if c.Rows < clusters || c.Rows > 3*clusters {
			t.Errorf("the %s of %d targets wrote %d rows: %+v", what, clusters, c.Rows, c)
		}
	}
}
