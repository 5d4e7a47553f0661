// Package resources checks the names of objects in a sync request, and the patterns of
// names in the limits of a project. It reads nothing and keeps nothing; hub/fleet calls
// it.
//
// Invariants: a request names at most 100 objects of at most 600 bytes, and a list of
// limits at most 100 patterns of at most 250.
package resources

import (
	"path"
	"strings"

	"github.com/axle-cd/axle/internal/errcode"
)

// most limits the objects in one sync request.
const most = 100

// Check returns Invalid unless each text has the form GROUP:KIND:NAME or
// GROUP:KIND:NAMESPACE/NAME.
func Check(all []string) error {
	if len(all) > most {
		return errcode.New(errcode.Invalid, "resources: lists more than %d; sync the service whole", most)
	}
	for _, text := range all {
		parts := strings.SplitN(text, ":", 3)
		if len(text) > 600 || len(parts) != 3 || parts[1] == "" || parts[2] == "" || strings.Count(parts[2], "/") > 1 || strings.HasSuffix(parts[2], "/") {
			return errcode.New(errcode.Invalid, "resources: %.200q is not an object; write GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME, such as apps:Deployment:web or :ConfigMap:web", text)
		}
	}
	return nil
}

const (
	// maxPatterns and maxPattern limit each list, which is sent with each spec.
	maxPatterns = 100
	maxPattern  = 250
)

// CheckPatterns returns Invalid unless each text at a field is a name, with * and ? as
// wildcards.
func CheckPatterns(at string, patterns []string) error {
	if len(patterns) > maxPatterns {
		return errcode.New(errcode.Invalid, "%s: lists more than %d", at, maxPatterns)
	}
	for i, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" || len(pattern) > maxPattern || strings.ContainsAny(pattern, "/ \n") {
			return errcode.New(errcode.Invalid, "%s[%d]: %.80q is not a pattern; write a name, with * and ? as wildcards", at, i, pattern)
		}
	}
	return nil
}
