package output

import (
	"fmt"
	"strings"
)

// Count is a number with its noun: "1 service", "2 services", "0 repositories".
// The noun is given in the singular. Its last word gets the plural: "y" after a
// consonant becomes "ies", anything else gets "s".
func Count[N int | int32 | int64](n N, noun string) string {
	if n != 1 {
		noun = plural(noun)
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func plural(noun string) string {
	stem, ok := strings.CutSuffix(noun, "y")
	if ok && stem != "" && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return stem + "ies"
	}
	return noun + "s"
}
