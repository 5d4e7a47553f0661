package helm

import (
	"fmt"
	"strings"

	"github.com/axle-cd/axle/internal/manifest"
)

// hookAnnotation makes an object a hook for the listed events.
const hookAnnotation = "helm.sh/hook"

// hookEvents are Helm's events. The value is true for test events: such hooks run
// when a service is tested and are not part of what is applied.
var hookEvents = map[string]bool{
	"pre-install": false, "post-install": false, "pre-upgrade": false, "post-upgrade": false,
	"pre-delete": false, "post-delete": false, "pre-rollback": false, "post-rollback": false,
	"test": true, "test-success": true,
}

// wants leaves out test hooks unless requested, all hooks if the service ignores
// them, and, as Helm does, an object whose hook events are all unknown to Helm.
func (rel *release) wants(object *manifest.Object) (wanted bool, warning string) {
	hooks, ok := object.LookupAnnotation(hookAnnotation)
	if !ok {
		return true, ""
	}
	for hook := range strings.SplitSeq(hooks, ",") {
		test, known := hookEvents[strings.ToLower(strings.TrimSpace(hook))]
		if !known {
			return false, fmt.Sprintf("%s is a hook for %q, which Helm does not know; Helm leaves such an object out too", object.Key(""), hook)
		}
		wanted = wanted || !test || rel.Tests
	}
	return wanted && !rel.IgnoreHooks, ""
}
