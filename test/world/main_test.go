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

// collectAt is how much the heap of the tests themselves may grow between two collections of
// garbage, in percent. What they start collects as it does anywhere.
const collectAt = 400

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
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
