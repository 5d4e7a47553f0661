package push_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/push"
)

// playerVariable makes the test program play clusters, as `dev fleet-player`
// does.
const playerVariable = "AXLE_TEST_FLEET_PLAYER"

func TestMain(m *testing.M) {
	if os.Getenv(playerVariable) == "" {
		os.Exit(m.Run())
	}
	if err := scale.Play(context.Background(), os.Stdin, os.Stdout); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// Two pushes are measured as a hundred are.
func TestPushMeasuresWhatHintsBring(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	t.Setenv(playerVariable, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got, err := push.Measure(ctx, push.Config{Clusters: 1, Agents: 2, Pushes: 2, Player: []string{self}, Progress: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if got.All.Count != 2 || got.Applied.Count != 2 || got.Played == nil || got.Played.Count != 4 || got.Repositories != 1 {
		t.Errorf("%+v", got)
	}
	if got.All.P50 <= 0 || got.All.P99 < got.All.P50 || got.All.Max < got.All.P99 {
		t.Errorf("times %+v", got.All)
	}
}
