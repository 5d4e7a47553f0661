package store

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/store/notifications"
)

// Messages are found by their sink, and events by their number, however many there are.
func TestMessagesAreFoundByTheirSink(t *testing.T) {
	openBoth(t, func(t *testing.T, open func(t *testing.T) *Store) {
		s := open(t)
		for what, q := range map[string]struct {
			query string
			args  []any
			index string
		}{
			"those that are due":   {notifications.Due, []any{"s", int64(1), 20}, "notification_messages_due"},
			"those of a topic":     {notifications.OfTopic, []any{"s", "t", int64(1)}, "notification_messages_topic"},
			"those that are shown": {notifications.Shown, []any{"s", int64(1), 20}, "notification_messages_sent"},
			"those that are over":  {notifications.Old, []any{int64(1), 20}, "notification_messages_old"},
			"new events":           {notifications.Happened, []any{int64(1), 20}, ""},
		} {
			plan := planOf(t, s, q.query, q.args)
			if !strings.Contains(plan, q.index) || strings.Contains(plan, "Seq Scan on events") || strings.Contains(plan, "SCAN e") && !strings.Contains(plan, "USING") {
				t.Errorf("%s:\n%s", what, plan)
			}
		}
	})
}
