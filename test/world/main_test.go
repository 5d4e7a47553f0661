package world_test

import (
	"flag"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
)

// scenariosAtOnce is how many tests run at a time. Those of the delivery mostly wait,
// for the 5 s between fetches or the 20 s of a lease, so far more than there are
// processors can run together.
const scenariosAtOnce = 8

// clustersAtOnce holds a slot for each test with its own API servers: as many as
// -parallel says, because they do use processors.
var clustersAtOnce chan struct{}

// collectAt is how much heaps may grow between two collections of garbage, in percent: of
// this process, and of the hubs, agents and commands that it starts. There are many of them,
// they live shortly, and their memory is no matter here. With AXLE_SOAK, which measures some
// of it, and in pods they collect as they do anywhere.
const collectAt = 400

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("AXLE_SOAK") == "" && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
		if err := os.Setenv("GOGC", strconv.Itoa(collectAt)); err != nil {
			os.Exit(2)
		}
	}
	f := flag.Lookup("test.parallel")
	given, err := strconv.Atoi(f.Value.String())
	if err != nil {
		given = 1
	}
	clustersAtOnce = make(chan struct{}, given)
	if err := f.Value.Set(strconv.Itoa(max(given, scenariosAtOnce))); err != nil {
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// takePlace waits until a test with API servers may run.
func takePlace(t *testing.T) {
	t.Helper()
	select {
	case clustersAtOnce <- struct{}{}:
		t.Cleanup(func() { <-clustersAtOnce })
	case <-t.Context().Done():
		t.Fatal("the tests end before this one had its turn")
	}
}
