package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MarkVolatile compares two renders of one input and notes in the first where
// they differ. What they render must be the same, its names included.
func MarkVolatile(first, second []Object) error {
	for i := range first {
		if i >= len(second) || first[i].Key("") != second[i].Key("") {
			return &Error{File: first[i].Source, Message: fmt.Sprintf(
				"the name, namespace or kind of %s is generated anew in each render; it must stay the same", first[i].Key(""))}
		}
		differ("", first[i].Data, second[i].Data, &first[i].Volatile)
		slices.Sort(first[i].Volatile)
	}
	if len(second) > len(first) {
		return &Error{File: second[len(first)].Source, Message: "it renders other objects each time; it must stay the same"}
	}
	return nil
}

// differ collects JSON pointers to the smallest parts that are not equal.
func differ(pointer string, a, b any, out *[]string) {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		for key := range b {
			if _, ok := a[key]; !ok {
				*out = append(*out, pointer+"/"+escape(key))
			}
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok {
				*out = append(*out, pointer+"/"+escape(key))
				continue
			}
			differ(pointer+"/"+escape(key), value, other, out)
		}
		return
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			differ(pointer+"/"+strconv.Itoa(i), a[i], b[i], out)
		}
		return
	default:
		if a == b {
			return
		}
	}
	*out = append(*out, pointer)
}

func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}
