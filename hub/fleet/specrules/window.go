package specrules

import (
	"fmt"
	"slices"
	"strings"

	specv1 "github.com/axle-cd/axle/api/spec/v1"
	"github.com/axle-cd/axle/internal/syncwindow"
)

// maxWindows limits the windows of a service, of a project and of the hub.
const maxWindows = 20

func checkWindows(_ string, s specv1.Spec) error { return CheckWindows("syncWindows", s.SyncWindows) }

// Sorted returns each text once, nil for none.
func Sorted(texts []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(texts)))
}

// Windows returns each window once, in an order of its own, nil for none.
func Windows(all []specv1.SyncWindow) []specv1.SyncWindow {
	return slices.Compact(slices.SortedFunc(slices.Values(all), func(a, b specv1.SyncWindow) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	}))
}

// CheckWindows returns an Invalid error that begins with at for windows that cannot be
// used.
func CheckWindows(at string, windows []specv1.SyncWindow) error {
	if len(windows) > maxWindows {
		return Field(at, "lists more than %d", maxWindows)
	}
	for i, w := range windows {
		if _, err := syncwindow.Parse(syncwindow.Spec{Kind: w.Kind, Schedule: w.Schedule, Duration: w.Duration, TimeZone: w.TimeZone}); err != nil {
			return Field(fmt.Sprintf("%s[%d]", at, i), "%s", err)
		}
	}
	return nil
}

// maxResources limits the objects in one sync request.
const maxResources = 100

// CheckResources checks the form GROUP:KIND:NAME of the objects in a sync request.
func CheckResources(all []string) error {
	if len(all) > maxResources {
		return Field("resources", "lists more than %d; sync the service whole", maxResources)
	}
	for _, text := range all {
		parts := strings.SplitN(text, ":", 3)
		if len(text) > 600 || len(parts) != 3 || parts[1] == "" || parts[2] == "" || strings.Count(parts[2], "/") > 1 || strings.HasSuffix(parts[2], "/") {
			return Field("resources", "%.200q is not an object; write GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME, such as apps:Deployment:web or :ConfigMap:web", text)
		}
	}
	return nil
}
