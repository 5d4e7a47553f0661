package apidocs

import (
	"fmt"
	"go/format"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

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

func examples(t *testing.T) (all []example) {
	t.Helper()
	text, err := os.ReadFile("examples.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("line %d of examples.txt is no example: %s", i+1, line)
		}
		e := example{line: i + 1, mark: m[1], call: m[2], request: m[3]}
		if strings.Contains(e.request, "'") || len(e.request) > 255 && strings.HasPrefix(e.call, "Fleet/Watch") {
			t.Errorf("line %d of examples.txt: a shell would not read it", e.line)
		}
		all = append(all, e)
	}
	for _, k := range object.Stored() {
		const named = `{"name": "example"}`
		all = append(all,
			example{mark: "make", call: k.Calls.Path(k.Calls.Update), request: `{"name": "example", "settings": ` + k.Storage.Example + `}`},
			example{mark: "read", call: k.Calls.Path(k.Calls.List), request: "{}"}, example{mark: "read", call: k.Calls.Path(k.Calls.Get), request: named},
			example{mark: "end", call: k.Calls.Path(k.Calls.Delete), request: named})
	}
	return all
}

// message returns the request as a message of its Go type.
func (e example) message(t *testing.T, m protoreflect.MethodDescriptor) proto.Message {
	t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
	if err != nil {
		t.Fatal(err)
	}
	request := kind.New().Interface()
	if err := protojson.Unmarshal([]byte(e.request), request); err != nil {
		t.Fatalf("line %d of examples.txt: %v", e.line, err)
	}
	return request
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
func (e example) golang(t *testing.T, m protoreflect.MethodDescriptor) string {
	t.Helper()
	answer := "answer"
	if m.IsStreamingServer() {
		answer = "stream"
	}
	text := fmt.Sprintf("%s, err := client.%s.%s(ctx, connect.NewRequest(%s))\n", answer, m.Parent().Name(), m.Name(), literal(reflect.ValueOf(e.message(t, m)), true))
	formatted, err := format.Source([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(formatted)
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
