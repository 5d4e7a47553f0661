package hub_test

import (
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli/commandtest"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/hub"
)

// All windows are removed only by --none, never by a script whose list is empty.
func TestWindowsAreRemovedByNone(t *testing.T) {
	answers := commandtest.Answers{hubv1connect.HubSetSyncWindowsProcedure: &hubv1.SyncWindowList{}}
	if got := commandtest.Run(t, answers, hub.Command, "sync-windows", "set"); !exitcode.IsUsage(got.Error) || len(got.Requests) != 0 {
		t.Errorf("without windows: %+v", got)
	}
	got := commandtest.Run(t, answers, hub.Command, "sync-windows", "set", "--none")
	if got.Error != nil || len(got.Requests) != 1 || len(got.Requests[0].(*hubv1.SyncWindowList).GetSyncWindows()) != 0 {
		t.Errorf("with --none: %+v", got)
	}
}
