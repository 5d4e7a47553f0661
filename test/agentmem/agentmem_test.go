package agentmem_test

import (
	"testing"
	"time"

	"github.com/axle-cd/axle/test/agentmem"
)

// A few objects are measured as a hundred thousand are, and are of a real size.
func TestMeasuresAFewObjects(t *testing.T) {
	got, err := agentmem.Measure(t.Context(), agentmem.Config{Services: 2, Objects: 20, Settle: time.Second, Limit: 5 * time.Minute, Progress: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if got.Objects != 40 || got.ObjectBytes < 4<<10 || got.ObjectBytes > 6<<10 {
		t.Errorf("%d objects of %.0f bytes", got.Objects, got.ObjectBytes)
	}
	if got.Idle <= 10 || got.Idle > got.Installed || got.RestartedIdle <= 10 || got.RestartedIdle > got.Restarted {
		t.Errorf("%+v", got)
	}
}
