package kustomize

import (
	"encoding/json"
	"strconv"
	"strings"
)

// replace sets another value of the same type at a JSON pointer.
func replace(in any, pointer string) {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, part := range parts {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		last := i == len(parts)-1
		switch v := in.(type) {
		case map[string]any:
			if last {
				v[part] = other(v[part])
			}
			in = v[part]
		case []any:
			at, err := strconv.Atoi(part)
			if err != nil || at < 0 || at >= len(v) {
				return
			}
			if last {
				v[at] = other(v[at])
			}
			in = v[at]
		default:
			return
		}
	}
}

// other is a different value of the same type.
func other(v any) any {
	switch v := v.(type) {
	case string:
		// Four more letters keep valid Base64 valid.
		return v + "AAAA"
	case json.Number:
		return json.Number("1" + strings.TrimPrefix(v.String(), "-"))
	case bool:
		return !v
	case []any:
		return append([]any{}, append(v, v...)...)
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			out[key] = other(value)
		}
		return out
	}
	return "AAAA"
}
