package scale_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/axle-cd/axle/test/scale"
)

// Each of many watches stays open and hears its own events and no others.
func TestManyWatchesOfPlayedClusters(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	t.Setenv(playerVariable, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got, err := scale.ProxyFleet(ctx, scale.ProxyConfig{WatchesOver: 2, Window: 100 * time.Millisecond, Player: []string{self}, Progress: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	m := got.Many
	if m == nil || m.Watches != 400 || m.Clusters != 2 || m.Lost != 0 || m.Astray != 0 {
		t.Errorf("%+v, want 400 watches over 2 clusters and none lost or astray", m)
	}
}
