package installed_test

import (
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/fleet/installed"
)

func TestMessageOfFlagsIsBounded(t *testing.T) {
	before := installed.Agent{Namespace: "a", Args: []string{"run"}}
	after := installed.Agent{Namespace: "a", Args: []string{"run", "--hub-url=https://" + strings.Repeat("x", 4<<10) + "\nforged"}}
	kind, message := new(installed.Told).Changed("cl_1", before, after, time.Unix(0, 0))
	if kind == "" || len(message) > 310 || strings.Contains(message, "\n") {
		t.Errorf("%s of %d bytes: %.400q", kind, len(message), message)
	}
}
