package fleet

import (
	"fmt"

	"github.com/axle-cd/axle/internal/syncwindow"
)

// maxWindows limits the windows of a service, of a project and of the hub.
const maxWindows = 20

func checkWindows(_ string, s Spec) error { return checkWindowList("syncWindows", s.SyncWindows) }

func checkWindowList(at string, windows []SyncWindow) error {
	if len(windows) > maxWindows {
		return field(at, "lists more than %d", maxWindows)
	}
	for i, w := range windows {
		if _, err := syncwindow.Parse(syncwindow.Spec{Kind: w.Kind, Schedule: w.Schedule, Duration: w.Duration, TimeZone: w.TimeZone}); err != nil {
			return field(fmt.Sprintf("%s[%d]", at, i), "%s", err)
		}
	}
	return nil
}
