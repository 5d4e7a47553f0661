package fleet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// prefixed returns a text after its length, so that no two lists of texts are the
// same bytes.
func prefixed(s string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...)
}

// leafText and leafNumber are the forms of a text and of a whole number.
func leafText(s string) string  { return "s" + s }
func leafNumber(n int64) string { return "n" + strconv.FormatInt(n, 10) }

// pathPart escapes a name for a path.
func pathPart(s string) string { return pathParts.Replace(s) }

// pathParts is made once: a change of a global service digests thousands of specs.
var pathParts = strings.NewReplacer("~", "~0", "/", "~1")

// flatten adds every leaf of v's JSON under its path. Empty objects and lists
// count, so that "helm: {}" differs from no helm: two values that differ have different
// leaves.
func flatten(into map[string]string, at string, v any) error {
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
	addLeaves(into, at, tree)
	return nil
}

func addLeaves(into map[string]string, at string, node any) {
	switch n := node.(type) {
	case map[string]any:
		into[at] = "o"
		for key, value := range n {
			addLeaves(into, at+"/"+pathPart(key), value)
		}
	case []any:
		into[at] = "l" + strconv.Itoa(len(n))
		for i, value := range n {
			addLeaves(into, at+"/"+strconv.Itoa(i), value)
		}
	case string:
		into[at] = leafText(n)
	case json.Number:
		into[at] = "n" + n.String()
	case bool:
		into[at] = "b" + strconv.FormatBool(n)
	}
}

// asText returns a value for a map of texts: a text unchanged, anything else as
// JSON.
func asText(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), err
}

// jsonObject decodes an object and keeps numbers as written.
func jsonObject(text string) (map[string]any, error) {
	object := map[string]any{}
	if text == "" {
		return object, nil
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	err := decoder.Decode(&object)
	return object, err
}
