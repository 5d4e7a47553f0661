package fleet

import (
	"fmt"
	"strings"

	"github.com/axle-cd/axle/internal/syncwindow"
)

// SyncWindow is a recurring time in which a service may be synced, or may not.
type SyncWindow struct {
	// Kind is allow or deny.
	Kind string `json:"kind,omitempty"`
	// Schedule is cron: when the window begins.
	Schedule string `json:"schedule,omitempty"`
	// Duration is such as "1h30m".
	Duration string `json:"duration,omitempty"`
	// TimeZone is an IANA name; empty is UTC.
	TimeZone string `json:"timeZone,omitempty"`
	// ManualSync lets what a person asks for through.
	ManualSync bool `json:"manualSync,omitempty"`
}

// maxWindows bounds the windows of a service, a project and the hub.
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

// maxResources bounds what one request for a sync names.
const maxResources = 100

// checkResources checks the form GROUP:KIND:NAME of what a sync is asked for.
func checkResources(all []string) error {
	if len(all) > maxResources {
		return field("resources", "lists more than %d; sync the service whole", maxResources)
	}
	for _, text := range all {
		parts := strings.SplitN(text, ":", 3)
		if len(text) > 600 || len(parts) != 3 || parts[1] == "" || parts[2] == "" || strings.Count(parts[2], "/") > 1 || strings.HasSuffix(parts[2], "/") {
			return field("resources", "%.200q is no object; write GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME, such as apps:Deployment:web or :ConfigMap:web", text)
		}
	}
	return nil
}
