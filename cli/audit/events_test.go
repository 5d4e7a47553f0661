package audit_test

import (
	"strings"
	"testing"
	"time"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli/audit"
	"github.com/axle-cd/axle/cli/commandtest"
)

// With --since, as many events are read as the hub returns at once, and older ones are left out.
func TestEventsSinceReadAllOfTheTime(t *testing.T) {
	now := time.Now().UnixMicro()
	answers := commandtest.Answers{hubv1connect.EventsListProcedure: &hubv1.ListEventsResponse{Events: []*hubv1.Event{
		{Id: 2, At: now, Kind: "service.synced"}, {Id: 1, At: now - 2*time.Hour.Microseconds(), Kind: "service.failed"},
	}}}
	got := commandtest.Run(t, answers, audit.Events, "--since", "1h")
	if got.Error != nil || len(got.Requests) != 1 || got.Requests[0].(*hubv1.ListEventsRequest).GetLimit() != 1000 {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(got.Out, "service.synced") || strings.Contains(got.Out, "service.failed") {
		t.Errorf("the list is\n%s", got.Out)
	}
}
