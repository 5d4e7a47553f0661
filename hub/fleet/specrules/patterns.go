package specrules

import (
	"fmt"
	"path"
	"strings"
)

const (
	// maxPatterns and maxPattern limit each list, which is sent with each spec.
	maxPatterns = 100
	maxPattern  = 250
)

// CheckPatterns returns Invalid unless each text at a field is a name, with * and ? as
// wildcards.
func CheckPatterns(at string, patterns []string) error {
	if len(patterns) > maxPatterns {
		return Field(at, "lists more than %d", maxPatterns)
	}
	for i, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" || len(pattern) > maxPattern || strings.ContainsAny(pattern, "/ \n") {
			return Field(fmt.Sprintf("%s[%d]", at, i), "%.80q is not a pattern; write a name, with * and ? as wildcards", pattern)
		}
	}
	return nil
}
