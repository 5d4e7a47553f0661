package agentapi_test

import (
	"os"
	"testing"

	"github.com/axle-cd/axle/hub/hubtest"
)

// TestMain lets this program be the floor that polls are measured beside.
func TestMain(m *testing.M) {
	if os.Getenv(floorVariable) != "" {
		os.Exit(serveFloor())
	}
	hubtest.Main(m)
}
