package fleet_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/scale"
	"github.com/axle-cd/axle/test/scale/fleet"
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

// A small fleet is measured as a large one is: whatever the benchmark says
// means nothing if this does not hold.
func TestBenchMeasuresASmallFleet(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	t.Setenv(playerVariable, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got, err := fleet.Measure(ctx, fleet.Config{
		Clusters: 20, Services: 4, Duration: 8 * time.Second, Poll: 2 * time.Second, Commits: 4 * time.Second, Touch: 0.1,
		All: true, Player: []string{self}, Dir: t.TempDir(), Progress: t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Errors != 0 || got.DigestMismatches != 0 {
		t.Errorf("%d errors, %d mismatches: %v", got.Errors, got.DigestMismatches, got.ErrorTexts)
	}
	// The machine may do much else; what is counted holds all the same.
	if got.Polls < 20 || got.TarballsServed < 2 || got.UpstreamFetches < 1 || got.Commits < 1 {
		t.Errorf("%d polls, %d tarballs, %d fetches, %d commits", got.Polls, got.TarballsServed, got.UpstreamFetches, got.Commits)
	}
	if got.BytesUpPerPoll <= 0 || got.BytesUpPerPoll > 300 || got.BytesDownPerPoll <= 0 || got.BytesDownPerPoll > 200 {
		t.Errorf("a poll that finds nothing took %.0f bytes up and %.0f down, at most 300 and 200", got.BytesUpPerPoll, got.BytesDownPerPoll)
	}
	if got.HubCores <= 0 || got.HubRSSMB <= 10 || got.CommitToAgentP99 < got.CommitToAgentP50 || got.AllSeconds <= 0 {
		t.Errorf("%+v", got)
	}
}

func TestBenchRefusesAnImpossibleShare(t *testing.T) {
	_, err := fleet.Measure(t.Context(), fleet.Config{Clusters: 20, Services: 4, Touch: 0.5})
	if err == nil {
		t.Fatal("20 repositories touch half of the clusters each, with 4 services a cluster")
	}
}
