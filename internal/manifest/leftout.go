package manifest

import (
	"fmt"
	"strings"
)

// leftOut begins the warnings about parts of the input of which no objects were
// made.
const leftOut = "left out: "

// LeftOut words a warning about a part of the input of which no objects were
// made although it may describe some: what it describes may be in a cluster, so
// nothing may be deleted because it is not among what was rendered.
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

// NoManifests makes plain warnings of those about what was left out, for a file
// that is there for something else.
func NoManifests(warnings []string) []string {
	var plain []string
	for _, w := range warnings {
		plain = append(plain, strings.TrimPrefix(w, leftOut))
	}
	return plain
}
