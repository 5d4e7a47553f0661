// Package jsondiff compares two values that encoding/json has decoded, field by field.
//
// It is for showing what a change consists of: a list that has changed is one change,
// because its elements have no names. sdk/manifest and cli/plan use it. It does not read
// bytes, print, or know what a field means.
package jsondiff

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Change is one field that differs.
type Change struct {
	// Path is in the form of a manifest: "git.ref", `configuration["a.b"]`. It is empty
	// when the values as a whole differ.
	Path string `json:"path"`
	// Old and New are nil for a field that is not there.
	Old any `json:"old"`
	New any `json:"new"`
}

// Of are the fields that differ, in the order of their paths. Objects are compared key by
// key, and anything else as a whole. A field that is not there equals null.
func Of(old, new any) []Change { return compare(nil, "", old, new) }

// Messages is Of for two values that encoding/json encodes.
func Messages(old, new any) ([]Change, error) {
	var trees [2]any
	for i, value := range []any{old, new} {
		text, err := json.Marshal(value)
		if err == nil {
			err = json.Unmarshal(text, &trees[i])
		}
		if err != nil {
			return nil, fmt.Errorf("compare values: %w", err)
		}
	}
	return Of(trees[0], trees[1]), nil
}

func compare(all []Change, path string, old, new any) []Change {
	if reflect.DeepEqual(old, new) {
		return all
	}
	before, was := old.(map[string]any)
	after, is := new.(map[string]any)
	if !(was || old == nil) || !(is || new == nil) || !was && !is {
		return append(all, Change{path, old, new})
	}
	if was != is && len(before)+len(after) == 0 {
		return append(all, Change{path, old, new})
	}
	keys := map[string]bool{}
	for key := range before {
		keys[key] = true
	}
	for key := range after {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		all = compare(all, under(path, key), before[key], after[key])
	}
	return all
}

func under(path, key string) string {
	if key == "" || strings.ContainsAny(key, ".[]\" \t\r\n") {
		return fmt.Sprintf("%s[%q]", path, key)
	}
	return strings.TrimPrefix(path+"."+key, ".")
}
