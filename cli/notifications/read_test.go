package notifications_test

import (
	"testing"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/hub/v1/hubv1connect"
	"github.com/axle-cd/axle/cli/commandtest"
	"github.com/axle-cd/axle/cli/notifications"
)

// All that were listed are marked, the newest included, and none that came later.
func TestReadMarksUpToTheNewestListed(t *testing.T) {
	answers := commandtest.Answers{
		hubv1connect.NotificationsListProcedure:     &hubv1.ListNotificationsResponse{Notifications: []*hubv1.Notification{{Id: "c", At: 30}, {Id: "b", At: 20}, {Id: "a", At: 10}}},
		hubv1connect.NotificationsMarkReadProcedure: &hubv1.MarkNotificationsReadResponse{},
	}
	got := commandtest.Run(t, answers, notifications.Command, "read")
	if got.Error != nil || len(got.Requests) != 2 || got.Requests[1].(*hubv1.MarkNotificationsReadRequest).GetUpTo() != 30 {
		t.Errorf("%+v", got)
	}
}
