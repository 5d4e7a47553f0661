package generated

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"
)

// counterpart is the live value at the position of a pointer into the rendered
// object. Items of a list are matched by name, because the list may have got another
// item since.
func (g *generates) counterpart(pointer string) (any, bool) {
	if g.live == nil {
		return nil, false
	}
	all := steps(pointer)
	if len(all) == 2 && all[0] == "stringData" && g.isSecret() {
		return g.decoded(all[1])
	}
	var rendered, live any = g.object.Object, g.live
	for _, step := range all {
		switch l := live.(type) {
		case map[string]any:
			next, ok := l[step]
			if !ok {
				return nil, false
			}
			live = next
			r, _ := rendered.(map[string]any)
			rendered = r[step]
		case []any:
			r, _ := rendered.([]any)
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(r) {
				return nil, false
			}
			rendered = r[n]
			if live = sameItem(l, rendered, n, len(r)); live == nil {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	return live, true
}

// sameItem finds an item by its name, or by its index in a list of the same length.
func sameItem(list []any, item any, n, length int) any {
	fields, _ := item.(map[string]any)
	name, named := fields["name"].(string)
	if !named {
		if len(list) != length {
			return nil
		}
		return list[n]
	}
	for _, other := range list {
		if o, ok := other.(map[string]any); ok && o["name"] == name {
			return other
		}
	}
	return nil
}

// decoded is the Secret's value for a key of stringData, which the API server stores
// in data. Bytes that are not text cannot be written to stringData.
func (g *generates) decoded(key string) (any, bool) {
	data, _ := g.live["data"].(map[string]any)
	text, ok := data[key].(string)
	if !ok {
		return nil, false
	}
	value, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !utf8.Valid(value) {
		return nil, false
	}
	return string(value), true
}

func (g *generates) isSecret() bool {
	return g.object.GetAPIVersion() == "v1" && g.object.GetKind() == "Secret"
}

func (g *generates) isConfigMap() bool {
	return g.object.GetAPIVersion() == "v1" && g.object.GetKind() == "ConfigMap"
}

// at follows a JSON pointer.
func at(value any, pointer string) (any, bool) {
	for _, step := range steps(pointer) {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(v) {
				return nil, false
			}
			value = v[n]
		default:
			return nil, false
		}
	}
	return value, true
}

// put sets the value at a JSON pointer, if the path to it exists.
func put(object map[string]any, pointer string, value any) {
	all := steps(pointer)
	if len(all) == 0 {
		return
	}
	last := all[len(all)-1]
	parent, ok := at(object, pointer[:strings.LastIndex(pointer, "/")])
	if !ok {
		return
	}
	switch p := parent.(type) {
	case map[string]any:
		p[last] = value
	case []any:
		if n, err := strconv.Atoi(last); err == nil && n >= 0 && n < len(p) {
			p[n] = value
		}
	}
}

func steps(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts
}
