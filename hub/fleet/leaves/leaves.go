// Package leaves reads JSON for hub/fleet: each leaf of a value under its path, which
// spec digests hash, and values as texts. It knows nothing of services.
//
// Invariant: two values that differ have different leaves.
package leaves

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Prefixed returns a text after its length, so that no two lists of texts are the
// same bytes.
func Prefixed(s string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...)
}

// Text and Number are the forms of a text and of a whole number.
func Text(s string) string  { return "s" + s }
func Number(n int64) string { return "n" + strconv.FormatInt(n, 10) }

// PathPart escapes a name for a path.
func PathPart(s string) string { return pathParts.Replace(s) }

// pathParts is made once: a change of a global service digests thousands of specs.
var pathParts = strings.NewReplacer("~", "~0", "/", "~1")

// Flatten adds every leaf of v's JSON under its path. Empty objects and lists
// count, so that "helm: {}" differs from no helm.
func Flatten(into map[string]string, at string, v any) error {
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", at, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return fmt.Errorf("decode %s: %w", at, err)
	}
	walk(into, at, tree)
	return nil
}

func walk(into map[string]string, at string, node any) {
	switch n := node.(type) {
	case map[string]any:
		into[at] = "o"
		for key, value := range n {
			walk(into, at+"/"+PathPart(key), value)
		}
	case []any:
		into[at] = "l" + strconv.Itoa(len(n))
		for i, value := range n {
			walk(into, at+"/"+strconv.Itoa(i), value)
		}
	case string:
		into[at] = Text(n)
	case json.Number:
		into[at] = "n" + n.String()
	case bool:
		into[at] = "b" + strconv.FormatBool(n)
	}
}

// AsText returns a value for a map of texts: a text unchanged, anything else as
// JSON.
func AsText(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), err
}

// Object decodes an object and keeps numbers as written.
func Object(text string) (map[string]any, error) {
	object := map[string]any{}
	if text == "" {
		return object, nil
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	err := decoder.Decode(&object)
	return object, err
}
