package manifest

import (
	"fmt"
	"strings"
)

// leftOut is the prefix of warnings about parts of the input that were not rendered
// to objects.
const leftOut = "left out: "

// LeftOut formats a warning about a part of the input that was not rendered although
// it may describe objects. These objects may be in a cluster, so nothing may be
// deleted because it is missing in the rendered result.
func LeftOut(format string, args ...any) string { return leftOut + fmt.Sprintf(format, args...) }

// PartsLeftOut returns what was left out according to the warnings of a render.
func PartsLeftOut(warnings []string) []string {
	var parts []string
	for _, w := range warnings {
		if part, is := strings.CutPrefix(w, leftOut); is {
			parts = append(parts, part)
		}
	}
	return parts
}

// NoManifests turns warnings about left-out parts into plain warnings, for a file
// that is not meant to hold manifests.
func NoManifests(warnings []string) []string {
	var plain []string
	for _, w := range warnings {
		plain = append(plain, strings.TrimPrefix(w, leftOut))
	}
	return plain
}
