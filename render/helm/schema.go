package helm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// loadable leaves out of the schemas of a chart's values what is at other servers: a renderer
// has no network, and Helm would fail the chart. Values are not checked against it, which
// the warnings name.
func loadable(folder string, c *chart.Chart) (warnings []string) {
	if cut, left := withoutRemote(c.Schema); len(left) > 0 {
		c.Schema = cut
		warnings = append(warnings, fmt.Sprintf("%s: values are not checked against %s: nothing is fetched to render", path.Join(folder, "values.schema.json"), strings.Join(left, ", ")))
	}
	for _, d := range c.Dependencies() {
		warnings = append(warnings, loadable(path.Join(folder, "charts", d.Name()), d)...)
	}
	return warnings
}

// withoutRemote replaces each part of a schema that refers to another server by one that
// takes everything, and returns the addresses. A schema that is no JSON stays as it is.
func withoutRemote(schema []byte) (cut []byte, left []string) {
	if !bytes.Contains(schema, []byte("$ref")) {
		return schema, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(schema))
	decoder.UseNumber()
	var root any
	if decoder.Decode(&root) != nil {
		return schema, nil
	}
	own := map[string]bool{}
	each(root, func(m map[string]any) {
		for _, key := range []string{"$id", "id"} {
			if id, ok := m[key].(string); ok {
				own[baseOf(id)] = true
			}
		}
	})
	found := map[string]bool{}
	each(root, func(m map[string]any) {
		to, _ := m["$ref"].(string)
		if at := baseOf(to); remote(at) && !own[at] {
			found[at] = true
			// Others may refer to its definitions.
			maps.DeleteFunc(m, func(key string, _ any) bool {
				return key != "$defs" && key != "definitions" && key != "$schema" && key != "$id"
			})
		}
	})
	if len(found) == 0 {
		return schema, nil
	}
	cut, err := json.Marshal(root)
	if err != nil {
		return schema, nil
	}
	return cut, slices.Sorted(maps.Keys(found))
}

// baseOf is an address without its fragment.
func baseOf(address string) string {
	at, _, _ := strings.Cut(address, "#")
	return at
}

// remote reports whether a document is at another server. The schemas of schemas are known.
func remote(at string) bool {
	_, rest, _ := strings.Cut(at, "://")
	return (strings.HasPrefix(at, "http://") || strings.HasPrefix(at, "https://")) && !strings.HasPrefix(rest, "json-schema.org/")
}

// each calls do with every object in a JSON value.
func each(value any, do func(map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		do(v)
		for _, inner := range v {
			each(inner, do)
		}
	case []any:
		for _, inner := range v {
			each(inner, do)
		}
	}
}
