package declare

import (
	"testing"

	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/sdk/manifest"
)

// What is declared against what is: the call of a changed declaration, and whether a
// check without a change leaves it alone.
func TestStepsOfAnUpgrade(t *testing.T) {
	for _, c := range []struct {
		version, phase, wants string
		does                  string
		same                  bool
	}{
		{"v2", "Progressing", "Running", "", true},
		{"v2", "Done", "Running", "", true},
		{"v2", "Stopped", "Running", "", true},
		{"v2", "Paused", "Running", "resume", true},
		{"v2", "Aborted", "Running", "start", true},
		{"v1", "Done", "Running", "start", false},
		{"v1", "Progressing", "Running", "start", false},
		{"v2", "Progressing", "Paused", "pause", false},
		{"v2", "Paused", "Paused", "", true},
		{"v2", "Done", "Paused", "", true},
		{"v1", "Done", "Paused", "start", false},
		{"v2", "Progressing", "Aborted", "abort", false},
		{"v2", "Stopped", "Aborted", "abort", false},
		{"v2", "Aborting", "Aborted", "", true},
		{"v2", "Done", "Aborted", "", true},
		{"v1", "Progressing", "Aborted", "", true},
	} {
		item := &manifest.Item{Request: &hubv1.StartUpgradeRequest{Version: "v2"}, Set: []proto.Message{&hubv1.AgentUpgrade{Phase: c.wants}}}
		u := &hubv1.AgentUpgrade{Version: c.version, Phase: c.phase, HubVersion: "v3"}
		if does, same := step(u, item), (upgrades{}).Same(nil, item, &Found{Message: u}); does != c.does || same != c.same {
			t.Errorf("%s %s, declared v2 %s: %q, same %v; want %q, %v", c.version, c.phase, c.wants, does, same, c.does, c.same)
		}
	}
	// Without a version it is the hub's own.
	if !target(&hubv1.AgentUpgrade{Version: "v3", HubVersion: "v3"}, &hubv1.StartUpgradeRequest{}) {
		t.Error("the hub's own version is another one")
	}
}
