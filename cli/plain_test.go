package cli_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// evil moves the cursor, writes a title, turns the direction of what follows.
const evil = "\x1b[2J\x1b]0;t\a\u009b31mevil\u202e\u2066\u200b\r\x7f"

// fill puts evil into every text of a message that has none.
func fill(m protoreflect.Message, deep int) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		switch {
		case m.Has(f) || f.IsMap() || deep == 0 || f.Kind() != protoreflect.StringKind && f.Kind() != protoreflect.MessageKind:
		case f.IsList() && f.Kind() == protoreflect.StringKind:
			m.Mutable(f).List().Append(protoreflect.ValueOfString(evil))
		case f.IsList():
			fill(m.Mutable(f).List().AppendMutable().Message(), deep-1)
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(evil))
		default:
			fill(m.Mutable(f).Message(), deep-1)
		}
	}
}

// Nothing that a hub sends reaches the terminal as a control sequence, in any output
// format or in errors.
func TestNothingThatAHubSaysIsObeyed(t *testing.T) {
	service := &hubv1.Service{Cluster: "edge", Name: "web"}
	fill(service.ProtoReflect(), 4)
	h := &hub{services: []*hubv1.Service{service}}
	for _, args := range [][]string{
		{"services", "list"}, {"services", "list", "-o", "json"}, {"services", "list", "-o", "yaml"}, {"services", "list", "-o", "name"},
		{"services", "get", "edge/web"}, {"services", "get", "edge/web", "-o", "json"}, {"services", "get", "edge/web", "-o", "yaml"},
	} {
		code, out, errs := run(t, h, args...)
		if code != 0 || args[len(args)-1] != "name" && !strings.Contains(out, "evil") {
			t.Errorf("%v: %d, %s%s", args, code, out, errs)
		}
		if strings.ContainsAny(out+errs, "\x1b\a\r\x7f\u009b\u202e\u2066\u200b") {
			t.Errorf("%v prints %q", args, out+errs)
		}
		if args[len(args)-1] != "json" {
			continue
		}
		var all any
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			t.Fatal(err)
		}
		if text, _ := json.Marshal(all); !strings.Contains(string(text), "evil\u202e") {
			t.Errorf("%v changes what it tells programs: %.200s", args, out)
		}
	}
	h.err = connect.NewError(connect.CodePermissionDenied, errors.New(evil))
	if _, out, errs := run(t, h, "services", "list"); !strings.Contains(errs, "evil") || strings.ContainsAny(out+errs, "\x1b\a\r\u009b\u202e") {
		t.Errorf("an error is printed as %q", errs)
	}
}
