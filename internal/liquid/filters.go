package liquid

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/axle-cd/axle/internal/aliases"
)

// standard are Liquid's own filters. If Sprig has a filter of the same name, Liquid's
// meaning is kept, extended by Sprig's where they do not conflict.
var standard = []string{
	"abs", "append", "capitalize", "ceil", "compact", "concat", "date", "default", "divided_by", "downcase", "escape",
	"escape_once", "first", "floor", "inspect", "join", "json", "last", "lstrip", "map", "minus", "modulo",
	"newline_to_br", "plus", "prepend", "remove", "remove_first", "replace", "replace_first", "reverse", "round",
	"rstrip", "size", "slice", "sort", "sort_natural", "split", "strip", "strip_html", "strip_newlines", "times",
	"truncate", "truncatewords", "type", "uniq", "upcase", "url_decode", "url_encode",
}

// outside are filters that would read the rendering machine or a name server.
var outside = []string{"env", "expandenv", "getHostByName"}

// otherNames are additional names of filters.
var otherNames = map[string]string{
	"to_json": "toJson", "from_json": "fromJson", "semver_compare": "semverCompare", "sha26sum": "sha256sum",
	"to_yaml": "toYaml", "from_yaml": "fromYaml", "base64_encode": "b64enc", "base64_decode": "b64dec",
	"basename": "base", "dirname": "dir",
}

// generators are the filters whose result differs each time.
var generators = []string{
	"bcrypt", "encryptAES", "genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
	"genSignedCert", "genSignedCertWithKey", "htpasswd", "randAlpha", "randAlphaNum", "randAscii", "randBytes",
	"randInt", "randNumeric", "shuffle", "uuidv4",
}

// Filters returns the names of all filters, sorted.
func Filters() []string {
	names := slices.Clone(standard)
	for name := range functions() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// functions are the filters beyond Liquid's own, as Go functions whose parameters are
// the value and the filter's arguments, in this order.
func functions() map[string]any {
	all := sprig.TxtFuncMap()
	delete(all, "hello")
	for _, name := range standard {
		delete(all, name)
	}
	for _, name := range outside {
		all[name] = func(...any) (any, error) {
			return nil, errors.New("not available: a template sees its service's configuration, not the rendering machine; " +
				"put the value there")
		}
	}
	maps.Copy(all, ours)
	for alias, name := range otherNames {
		all[alias] = all[name]
	}
	return all
}

// ours replace Sprig's filters that would hide a mistake, give different results each
// time or are unbounded, and add missing ones.
var ours = map[string]any{
	// Sprig puts the decoder's error into the text.
	"b64dec":       decodeBase64,
	"b32dec":       decodeBase32,
	"fromJson":     fromYAML,
	"fromYaml":     fromYAML,
	"mustFromJson": fromYAML,
	"toYaml":       toYAML,
	"toJson":       sprig.TxtFuncMap()["mustToJson"],
	"toPrettyJson": sprig.TxtFuncMap()["mustToPrettyJson"],
	"toRawJson":    sprig.TxtFuncMap()["mustToRawJson"],

	// Go iterates over maps in random order.
	"keys":   keys,
	"values": mapValues,

	"trimall":   func(cut, s string) string { return strings.Trim(s, cut) },
	"repeat":    repeat,
	"indent":    func(n int, s string) (string, error) { return indent(n, s) },
	"nindent":   func(n int, s string) (string, error) { s, err := indent(n, s); return "\n" + s, err },
	"until":     func(n int) ([]any, error) { return steps(0, n, sign(n)) },
	"untilStep": steps,
	"seq":       seq,
	"add":       sum,
	"div":       div,
	"mod":       mod,
	"ternary":   func(test bool, yes, no any) any { return map[bool]any{true: yes, false: no}[test] },
	"dig":       dig,
	"has":       has,
	"mustHas":   has,
	"required":  required,
	"urlParse":  urlParse,
	"urlquery":  url.QueryEscape,
	"osBase":    path.Base,
	"osDir":     path.Dir,
	"osClean":   path.Clean,
	"osExt":     path.Ext,
	"osIsAbs":   path.IsAbs,
}

// maxText and maxItems bound what one filter may multiply: more is a mistake. The
// child's memory is the second bound.
const (
	maxText  = 1 << 20
	maxItems = 1 << 16
)

func repeat(n int, s string) (string, error) {
	if n < 0 || n > maxText/max(len(s), 1) {
		return "", fmt.Errorf("repeat makes more than %d bytes, or a negative number", maxText)
	}
	return strings.Repeat(s, n), nil
}

func indent(n int, s string) (string, error) {
	n = max(n, 0)
	if n > 1000 {
		return "", errors.New("more than 1000 spaces of indent")
	}
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad), nil
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// steps counts from start to stop, exclusive.
func steps(start, stop, step int) ([]any, error) {
	out := []any{}
	if step == 0 || (step > 0) != (stop > start) {
		return out, nil
	}
	for i := start; (step > 0 && i < stop) || (step < 0 && i > stop); i += step {
		if out = append(out, i); len(out) > maxItems {
			return nil, fmt.Errorf("more than %d numbers", maxItems)
		}
		if (step > 0 && i > math.MaxInt-step) || (step < 0 && i < math.MinInt-step) {
			break
		}
	}
	return out, nil
}

// seq counts like the command: END, START END, or START STEP END.
func seq(n ...int) (string, error) {
	start, step, stop := 1, 0, 0
	switch len(n) {
	case 0:
		return "", nil
	case 1:
		stop = n[0]
	case 2:
		start, stop = n[0], n[1]
	case 3:
		start, step, stop = n[0], n[1], n[2]
	default:
		return "", errors.New("seq needs an end, a start and an end, or a start, a step and an end")
	}
	if step == 0 {
		if len(n) == 3 {
			return "", nil
		}
		step = sign(stop - start)
	}
	if stop == math.MaxInt || stop == math.MinInt {
		return "", errors.New("seq counts too far")
	}
	list, err := steps(start, stop+sign(step), step)
	if err != nil {
		return "", err
	}
	var out []string
	for _, i := range list {
		out = append(out, fmt.Sprint(i))
	}
	return strings.Join(out, " "), nil
}

func sum(list ...int64) (total int64) {
	for _, n := range list {
		total += n
	}
	return total
}

var errByZero = errors.New("division by zero")

func div(a, b int64) (int64, error) {
	if b == 0 {
		return 0, errByZero
	}
	return a / b, nil
}

func mod(a, b int64) (int64, error) {
	if b == 0 {
		return 0, errByZero
	}
	return a % b, nil
}

func toYAML(v any) (string, error) {
	out, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(out), "\n"), err
}

// fromYAML also decodes JSON, which is YAML.
func fromYAML(s string) (any, error) {
	if err := aliases.Check([]byte(s)); err != nil {
		return nil, err
	}
	var v any
	if err := yaml.Unmarshal([]byte(s), &v); err != nil {
		return nil, err
	}
	return v, nil
}

func keys(dicts ...map[string]any) []string {
	out := []string{}
	for _, m := range dicts {
		out = append(out, slices.Sorted(maps.Keys(m))...)
	}
	return out
}

func mapValues(m map[string]any) []any {
	out := make([]any, 0, len(m))
	for _, k := range keys(m) {
		out = append(out, m[k])
	}
	return out
}

// dig follows a path through maps. If the value is a map, it takes a dotted path, or
// keys and the result for a missing key; otherwise it is Sprig's: the keys, the
// default, the map.
func dig(v any, args ...any) (any, error) {
	if m, ok := v.(map[string]any); ok {
		if len(args) == 1 {
			return walk(m, strings.Split(text(args[0]), "."), nil), nil
		}
		args = append(args, m)
	} else {
		args = append([]any{v}, args...)
	}
	last := len(args) - 1
	if last < 2 {
		return nil, errors.New("dig needs keys, a default and a map")
	}
	m, ok := args[last].(map[string]any)
	if !ok && args[last] != nil {
		return nil, fmt.Errorf("dig wants a map, got %s", kind(args[last]))
	}
	var path []string
	for _, key := range args[:last-1] {
		path = append(path, text(key))
	}
	return walk(m, path, args[last-1]), nil
}

func walk(m map[string]any, path []string, missing any) any {
	var at any = m
	for _, step := range path {
		next, ok := at.(map[string]any)
		if !ok {
			return missing
		}
		if at, ok = next[step]; !ok {
			return missing
		}
	}
	return at
}

func has(needle any, list []any) bool {
	return slices.ContainsFunc(list, func(item any) bool { return reflect.DeepEqual(plain(item), plain(needle)) })
}

// plain makes numbers of all kinds comparable.
func plain(v any) any {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return float64(r.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return float64(r.Uint())
	case reflect.Float32, reflect.Float64:
		return r.Float()
	}
	return v
}

func required(v any, message string) (any, error) {
	if v == nil || v == "" {
		return nil, errors.New(message)
	}
	return v, nil
}

// urlParse returns no error of the parser: it repeats the URL, which may have a password.
func urlParse(s string) (map[string]any, error) {
	parsed, err := url.Parse(s)
	if err != nil {
		return nil, errors.New("the text is not a URL")
	}
	user := ""
	if parsed.User != nil {
		user = parsed.User.String()
	}
	return map[string]any{
		"scheme": parsed.Scheme, "host": parsed.Host, "hostname": parsed.Hostname(), "path": parsed.Path,
		"query": parsed.RawQuery, "opaque": parsed.Opaque, "fragment": parsed.Fragment, "userinfo": user,
	}, nil
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
