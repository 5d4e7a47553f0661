package liquid

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/osteele/liquid"
	"sigs.k8s.io/yaml"
)

// register adds the filters beyond Liquid's own. Names follow Sprig where
// Sprig has them; a filter that Liquid has itself keeps Liquid's meaning.
func register(e *liquid.Engine, now time.Time) {
	for name, filter := range encodings {
		e.RegisterFilter(name, filter)
	}
	for name, filter := range strs {
		e.RegisterFilter(name, filter)
	}
	for name, filter := range collections {
		e.RegisterFilter(name, filter)
	}
	e.RegisterFilter("ago", func(t time.Time) string { return now.Sub(t).Round(time.Second).String() })
}

var encodings = map[string]any{
	"b64enc":        func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"b64dec":        decodeBase64,
	"base64_encode": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64_decode": decodeBase64,
	"sha1sum":       func(s string) string { sum := sha1.Sum([]byte(s)); return hex.EncodeToString(sum[:]) },
	"sha256sum":     func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) },
	"toJson":        toJSON,
	"to_json":       toJSON,
	"toYaml":        toYAML,
	"to_yaml":       toYAML,
	"fromJson":      fromYAML,
	"from_json":     fromYAML,
	"fromYaml":      fromYAML,
	"from_yaml":     fromYAML,
}

var strs = map[string]any{
	"quote":      func(v any) string { return strconv.Quote(text(v)) },
	"squote":     func(v any) string { return "'" + text(v) + "'" },
	"trim":       strings.TrimSpace,
	"trimPrefix": func(s, prefix string) string { return strings.TrimPrefix(s, prefix) },
	"trimSuffix": func(s, suffix string) string { return strings.TrimSuffix(s, suffix) },
	"trimAll":    func(s, cut string) string { return strings.Trim(s, cut) },
	"upper":      strings.ToUpper,
	"lower":      strings.ToLower,
	"title":      title,
	"repeat":     repeat,
	"contains":   func(s, part string) bool { return strings.Contains(s, part) },
	"hasPrefix":  func(s, prefix string) bool { return strings.HasPrefix(s, prefix) },
	"hasSuffix":  func(s, suffix string) bool { return strings.HasSuffix(s, suffix) },
	"nospace":    func(s string) string { return strings.Join(strings.Fields(s), "") },
	"trunc":      trunc,
	"indent":     indent,
	"nindent":    func(s string, n int) string { return "\n" + indent(s, n) },
	"basename":   path.Base,
	"dirname":    path.Dir,
	"splitList":  func(s, sep string) []string { return strings.Split(s, sep) },
	"toString":   text,
	"int":        toInt,
	"atoi":       toInt,
}

var collections = map[string]any{
	"keys":     keys,
	"values":   mapValues,
	"hasKey":   func(m map[string]any, key string) bool { _, ok := m[key]; return ok },
	"dig":      dig,
	"merge":    merge,
	"has":      has,
	"ternary":  func(v bool, yes, no any) any { return map[bool]any{true: yes, false: no}[v] },
	"required": required,
	"coalesce": func(v any, others ...any) any { return firstSet(append([]any{v}, others...)) },
	"empty":    func(v any) bool { return isEmpty(v) },
}

// maxRepeat bounds what one filter may multiply: a longer text is a mistake,
// and the child's memory is the second bound.
const maxRepeat = 1 << 20

func repeat(s string, n int) (string, error) {
	if n < 0 || n*max(len(s), 1) > maxRepeat {
		return "", fmt.Errorf("repeat makes more than %d bytes", maxRepeat)
	}
	return strings.Repeat(s, n), nil
}

func decodeBase64(s string) (string, error) {
	out, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", fmt.Errorf("not base64: %w", err)
	}
	return string(out), nil
}

func toJSON(v any) (string, error) {
	out, err := json.Marshal(v)
	return string(out), err
}

func toYAML(v any) (string, error) {
	out, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(out), "\n"), err
}

// fromYAML decodes JSON too, which is YAML.
func fromYAML(s string) (any, error) {
	var v any
	if err := yaml.Unmarshal([]byte(s), &v); err != nil {
		return nil, err
	}
	return v, nil
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return fmt.Sprint(v)
}

func title(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

// trunc keeps the first n bytes, or the last when n is negative.
func trunc(s string, n int) string {
	switch {
	case n >= 0 && n < len(s):
		return s[:n]
	case n < 0 && -n < len(s):
		return s[len(s)+n:]
	}
	return s
}

func indent(s string, n int) string {
	pad := strings.Repeat(" ", max(n, 0))
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad)
}

func toInt(v any) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text(v)))
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", text(v))
	}
	return n, nil
}

func keys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func mapValues(m map[string]any) []any {
	out := make([]any, 0, len(m))
	for _, k := range keys(m) {
		out = append(out, m[k])
	}
	return out
}

// dig follows a dotted path through maps; nil when a step is missing.
func dig(m map[string]any, dotted string) any {
	var at any = m
	for step := range strings.SplitSeq(dotted, ".") {
		next, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = next[step]
	}
	return at
}

// merge lets the second map win, one level deep.
func merge(a, b map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range a {
		out[k] = v
	}
	for k, v := range b {
		out[k] = v
	}
	return out
}

func has(list []any, v any) bool {
	return slices.ContainsFunc(list, func(item any) bool { return reflect.DeepEqual(item, v) })
}

func required(v any, message string) (any, error) {
	if isEmpty(v) {
		return nil, fmt.Errorf("%s", message)
	}
	return v, nil
}

func firstSet(list []any) any {
	for _, v := range list {
		if !isEmpty(v) {
			return v
		}
	}
	return nil
}

func isEmpty(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.String, reflect.Slice, reflect.Map, reflect.Array:
		return r.Len() == 0
	default:
		return r.IsZero()
	}
}
