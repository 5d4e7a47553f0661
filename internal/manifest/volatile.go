package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MarkVolatile compares two renders of one input and notes in the first where
// they differ. What they render must be the same, its names included; but hooks
// and tests, which may be other objects each time, may have made up a part of
// their name: what begins it stands in generateName then, beside the name.
func MarkVolatile(first, second []Object) error {
	for i := range first {
		var prefix string
		if i < len(second) && first[i].Hook() && second[i].Hook() {
			prefix = commonName(first[i].Key(""), second[i].Key(""))
		}
		if i >= len(second) || prefix == "" && first[i].Key("") != second[i].Key("") {
			return &Error{File: first[i].Source, Message: fmt.Sprintf(
				"the name, namespace or kind of %s is generated anew in each render; it must stay the same", first[i].Key(""))}
		}
		differ("", first[i].Data, second[i].Data, &first[i].Volatile)
		slices.Sort(first[i].Volatile)
		if prefix != "" {
			first[i].Data["metadata"].(map[string]any)["generateName"] = prefix
		}
	}
	if len(second) > len(first) {
		return &Error{File: second[len(first)].Source, Message: "it renders other objects each time; it must stay the same"}
	}
	return nil
}

// commonName is what begins both names of one object whose name was made up in
// part, up to a separator, so that it is the same for any two renders; empty
// when the names are one, or of different objects.
func commonName(a, b Key) string {
	if a.Name == b.Name || a.Group != b.Group || a.Kind != b.Kind || a.Namespace != b.Namespace {
		return ""
	}
	n := 0
	for n < min(len(a.Name), len(b.Name)) && a.Name[n] == b.Name[n] {
		n++
	}
	if n = strings.LastIndexAny(a.Name[:n], "-."); n < 0 {
		return strings.ToLower(a.Kind) + "-"
	}
	return a.Name[:n+1]
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
