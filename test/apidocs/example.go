package apidocs

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/axle-cd/axle/api/object"
)

// example is a row of examples.txt.
type example struct {
	line int
	// mark is make, read, error or end.
	mark, call, request string
}

var row = regexp.MustCompile(`^(make|read|error|end) +([A-Za-z]+/[A-Za-z]+)  (\{.*\})$`)

// examples reads examples.txt below root.
func examples(root string) (all []example, err error) {
	text, err := os.ReadFile(filepath.Join(root, "test/apidocs/examples.txt"))
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d of examples.txt is no example: %s", i+1, line)
		}
		e := example{line: i + 1, mark: m[1], call: m[2], request: m[3]}
		if strings.Contains(e.request, "'") || len(e.request) > 255 && strings.HasPrefix(e.call, "Fleet/Watch") {
			return nil, fmt.Errorf("line %d of examples.txt: a shell would not read it", e.line)
		}
		all = append(all, e)
	}
	for _, k := range object.Stored() {
		const named = `{"name": "example"}`
		settings := k.Storage.Example
		if strings.Contains(settings, `"cluster": "edge-1"`) { // which is in a project of its own
			settings = strings.ReplaceAll(settings, `"project": "default"`, `"project": "shop"`)
		}
		all = append(all,
			example{mark: "make", call: k.Calls.Path(k.Calls.Update), request: `{"name": "example", "settings": ` + settings + `}`},
			example{mark: "read", call: k.Calls.Path(k.Calls.List), request: "{}"}, example{mark: "read", call: k.Calls.Path(k.Calls.Get), request: named},
			example{mark: "end", call: k.Calls.Path(k.Calls.Delete), request: named})
	}
	return all, nil
}

// message returns the request as a message of its Go type.
func (e example) message(m protoreflect.MethodDescriptor) (proto.Message, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
	if err != nil {
		return nil, err
	}
	request := kind.New().Interface()
	if err := protojson.Unmarshal([]byte(e.request), request); err != nil {
		return nil, fmt.Errorf("line %d of examples.txt: %w", e.line, err)
	}
	return request, nil
}

// shell returns the command that makes the call. A stream's request has a frame: a
// zero, and its length in four bytes.
func (e example) shell(m protoreflect.MethodDescriptor) string {
	const call = "curl --fail-with-body --silent --show-error \"$AXLE_HUB_URL/%s/%s\" \\\n  -H \"Authorization: Bearer $AXLE_TOKEN\" -H 'Content-Type: application/%s' \\\n  %s\n"
	if m.IsStreamingServer() {
		return fmt.Sprintf("printf '\\000\\000\\000\\000\\%03o%%s' '%s' | ", len(e.request), e.request) +
			fmt.Sprintf(call, m.Parent().FullName(), m.Name(), "connect+json", "--no-buffer --data-binary @-")
	}
	return fmt.Sprintf(call, m.Parent().FullName(), m.Name(), "json", "-d '"+e.request+"'")
}

// golang returns the call in Go.
func (e example) golang(m protoreflect.MethodDescriptor) (string, error) {
	message, err := e.message(m)
	if err != nil {
		return "", err
	}
	answer := "answer"
	if m.IsStreamingServer() {
		answer = "stream"
	}
	text := fmt.Sprintf("%s, err := client.%s.%s(ctx, connect.NewRequest(%s))\n", answer, m.Parent().Name(), m.Name(), literal(reflect.ValueOf(message), true))
	formatted, err := format.Source([]byte(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w", text, err)
	}
	return string(formatted), nil
}

// literal returns a value as Go source; an outer one has a line for each field.
func literal(v reflect.Value, outer bool) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.Elem().Kind() != reflect.Struct {
			return fmt.Sprintf("proto.%s(%#v)", strings.ToUpper(v.Elem().Kind().String()[:1])+v.Elem().Kind().String()[1:], v.Elem())
		}
		return "&hubv1." + v.Elem().Type().Name() + literal(v.Elem(), outer)
	case reflect.Struct:
		var fields []string
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
				fields = append(fields, f.Name+": "+literal(v.Field(i), false))
			}
		}
		return braces(fields, outer)
	case reflect.Slice:
		var items []string
		for i := range v.Len() {
			items = append(items, literal(v.Index(i), false))
		}
		return v.Type().String() + braces(items, false)
	case reflect.Map:
		var items []string
		for _, key := range v.MapKeys() {
			items = append(items, literal(key, false)+": "+literal(v.MapIndex(key), false))
		}
		slices.Sort(items)
		return v.Type().String() + braces(items, false)
	case reflect.String:
		if text := v.String(); strings.Contains(text, `"`) {
			return "`" + text + "`"
		}
	}
	return fmt.Sprintf("%#v", v)
}

func braces(parts []string, outer bool) string {
	if outer && len(parts) > 0 {
		return "{\n" + strings.Join(parts, ",\n") + ",\n}"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
