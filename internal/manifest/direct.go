package manifest

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	yamlv2 "go.yaml.in/yaml/v2"
)

// direct is parse for what almost every document is. It gives what encoding a document as
// JSON and decoding that gives, without doing so, which takes a third of the time; false
// leaves the document to that.
func direct(text []byte) (any, bool) {
	if value, ok := blocks(text); ok {
		return value, true
	}
	var value any
	if yamlv2.UnmarshalStrict(text, &value) != nil {
		return nil, false
	}
	return plain(value)
}

// plain converts a value of the YAML library to one of the JSON library.
func plain(value any) (any, bool) {
	switch v := value.(type) {
	case nil, bool:
		return v, true
	case string:
		return v, utf8.ValidString(v)
	case int:
		return json.Number(strconv.Itoa(v)), true
	case float64:
		text, err := json.Marshal(v) // not of one without end
		return json.Number(text), err == nil
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var ok bool
			if out[i], ok = plain(v[i]); !ok {
				return nil, false
			}
		}
		return out, true
	case map[any]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			name, ok := key.(string)
			if !ok || !utf8.ValidString(name) {
				return nil, false
			}
			if out[name], ok = plain(inner); !ok {
				return nil, false
			}
		}
		return out, true
	}
	return nil, false
}
