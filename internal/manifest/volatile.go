package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// MarkVolatile compares two renders of one input and records in the first where they
// differ. Both must have the same objects with the same names. Hooks and tests may be
// different objects each time and have a partly generated name: then its fixed
// beginning is put into generateName, beside the name.
func MarkVolatile(first, second []Object) error {
	for i := range first {
		var prefix string
		if i < len(second) && first[i].Hook() && second[i].Hook() {
			prefix = commonName(first[i].Key(""), second[i].Key(""))
		}
		if i >= len(second) || prefix == "" && first[i].Key("") != second[i].Key("") {
			return &Error{File: first[i].Source, Message: fmt.Sprintf(
				"the name, namespace or kind of %s differs in each render; it must stay the same", first[i].Key(""))}
		}
		// A text that is equal both times is decoded once.
		if reflect.ValueOf(first[i].Data).Pointer() != reflect.ValueOf(second[i].Data).Pointer() {
			differ("", first[i].Data, second[i].Data, &first[i].Volatile)
		}
		slices.Sort(first[i].Volatile)
		if prefix != "" {
			first[i].Data["metadata"].(map[string]any)["generateName"] = prefix
		}
	}
	if len(second) > len(first) {
		return &Error{File: second[len(first)].Source, Message: "the rendered objects differ each time; they must stay the same"}
	}
	return nil
}

// commonName is the common beginning, up to a separator, of both names of one object
// whose name is partly generated, so that it is equal for any two renders. It is
// empty if the names are equal, or belong to different objects.
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

// differ collects JSON pointers to the smallest parts that differ.
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
