package lists_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	table "github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/api/object"
)

// TestKindsAreThere compares the table with the kinds of manifests and with the API.
func TestKindsAreThere(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range object.All {
		_, existing := table.Of(table.Deployments, k.Name)
		_, own := table.Of(table.Axle, k.Name)
		switch {
		case !existing && !own:
			t.Errorf("%s is no kind of api/kinds", k.Name)
		case hubv1.MessageNamed(k.Request) == nil:
			t.Errorf("%s: there is no message %s", k.Name, k.Request)
		case seen[k.Name] || seen[k.Request]:
			t.Errorf("%s is described twice", k.Name)
		case !strings.HasSuffix(k.Text, "."):
			t.Errorf("%s: %q is no sentence", k.Name, k.Text)
		}
		seen[k.Name], seen[k.Request] = true, true
	}
}

// TestKindsStandAfterWhatTheyName guards the order in which objects are made and deleted.
func TestKindsStandAfterWhatTheyName(t *testing.T) {
	for i, k := range object.All {
		for at, f := range k.Fields {
			if slices.ContainsFunc(object.All[i+1:], func(later object.Kind) bool { return later.Name == f.Reference }) {
				t.Errorf("%s of %s names a %s, which stands later in object.All", at, k.Name, f.Reference)
			}
		}
	}
}

// TestFieldsMatchTheirMessages fails for a description of a field that is not there, such
// as a renamed one, and for a rule that a field of its type cannot have.
func TestFieldsMatchTheirMessages(t *testing.T) {
	owners := map[string]string{}
	for _, k := range object.All {
		for at, f := range k.Fields {
			if other, twice := owners[at]; twice {
				t.Errorf("%s is described with %s and with %s", at, other, k.Name)
			}
			owners[at] = k.Name
			name, field, _ := strings.Cut(at, ".")
			m := hubv1.MessageNamed(name)
			if m == nil || m.Fields().ByName(protoreflect.Name(field)) == nil {
				t.Errorf("%s: there is no such field", at)
				continue
			}
			for _, fault := range faults(m.Fields().ByName(protoreflect.Name(field)), f) {
				t.Errorf("%s: %s", at, fault)
			}
		}
	}
	if len(owners) < 100 {
		t.Errorf("%d fields were compared", len(owners))
	}
}

// faults are the parts of a description that a field of this type cannot have.
func faults(d protoreflect.FieldDescriptor, f object.Field) (all []string) {
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	text := d.Kind() == protoreflect.StringKind && !d.IsMap()
	fault(f.Flat && (d.Message() == nil || d.IsList() || d.IsMap()), "only a message has fields to put in its place")
	fault(f.Set && (!d.IsList() || d.Message() != nil), "only a list of scalars is a set")
	fault(!text && (f.Rule != nil || f.Format != "" || len(f.Enum) > 0 || f.JSON || f.Fold || f.Reference != ""), "only a text has a rule, a format, words, a reference or a meaning as JSON")
	fault(f.Rule != nil && (f.Format != "" || len(f.Enum) > 0), "one rule is enough")
	switch f.Default.(type) {
	case nil:
	case string:
		fault(!text, "the default is a text")
	case bool:
		fault(d.Kind() != protoreflect.BoolKind, "the default is a bool")
	case int64:
		fault(d.Kind() != protoreflect.Int64Kind && d.Kind() != protoreflect.Int32Kind, "the default is a number")
	default:
		fault(true, "%v is no default", f.Default)
	}
	fault(f.SameAs != "" && d.ContainingMessage().Fields().ByName(protoreflect.Name(f.SameAs)) == nil && f.SameAs != "name", "there is no field %s", f.SameAs)
	fault(f.Required && (f.Default != nil || f.Computed || f.Derived || f.SameAs != ""), "what is required has no default")
	fault(f.Reference != "" && !slices.ContainsFunc(object.All, func(k object.Kind) bool { return k.Name == f.Reference }), "%s is no kind", f.Reference)
	fault(f.Text != "" && !regexp.MustCompile("[.`]$").MatchString(f.Text), "%q is no sentence", f.Text)
	return all
}

// TestEveryFieldHasAText walks through the requests as clients do.
func TestEveryFieldHasAText(t *testing.T) {
	described, found := object.Described(), 0
	var walk func(kind string, m protoreflect.MessageDescriptor, depth int)
	walk = func(kind string, m protoreflect.MessageDescriptor, depth int) {
		for i := range m.Fields().Len() {
			d := m.Fields().Get(i)
			at := string(m.Name()) + "." + string(d.Name())
			f := described[at]
			if f.Skip {
				continue
			}
			found++
			if f.Text == "" && hubv1.Comments()[at] == "" && !f.Flat {
				t.Errorf("%s: %s has neither a text nor a comment", kind, at)
			}
			if d.IsMap() {
				d = d.MapValue()
			}
			if d.Message() != nil && depth < 8 {
				walk(kind, d.Message(), depth+1)
			}
		}
	}
	for _, k := range object.All {
		walk(k.Name, hubv1.MessageNamed(k.Request), 0)
	}
	if found < 200 {
		t.Errorf("%d fields were found", found)
	}
}

// TestCallsMatchTheAPI fails for a call of a description that the API does not have, or
// whose messages cannot name, list or hold an object of the kind.
func TestCallsMatchTheAPI(t *testing.T) {
	method := func(k object.Kind, name string) protoreflect.MethodDescriptor {
		m := hubv1.MethodNamed(k.Calls.Path(name))
		if m == nil {
			t.Errorf("%s: there is no call %s", k.Name, k.Calls.Path(name))
		}
		return m
	}
	for _, k := range object.All {
		if k.Calls.Service == "" {
			continue
		}
		if create := method(k, k.Calls.Create); create != nil && string(create.Input().Name()) != k.Request {
			t.Errorf("%s: %s takes %s, and the kind is declared by %s", k.Name, k.Calls.Path(k.Calls.Create), create.Input().Name(), k.Request)
		}
		list := method(k, k.Calls.List)
		if list == nil {
			continue
		}
		var rows protoreflect.MessageDescriptor
		for i := range list.Output().Fields().Len() {
			if f := list.Output().Fields().Get(i); f.IsList() && f.Message() != nil {
				rows = f.Message()
				break
			}
		}
		if rows == nil || rows.Fields().ByName(protoreflect.Name(k.Calls.Names())) == nil {
			t.Errorf("%s: %s lists no objects with %s", k.Name, k.Calls.Path(k.Calls.List), k.Calls.Names())
			continue
		}
		for at, f := range k.Fields {
			if f.Clears != "" && rows.Fields().ByName(protoreflect.Name(f.Clears)) == nil {
				t.Errorf("%s: %s has no field %s that %s can clear", k.Name, rows.Name(), f.Clears, at)
			}
		}
		for _, name := range []string{k.Calls.Get, k.Calls.Delete} {
			if name == "" {
				continue
			}
			if m := method(k, name); m != nil && m.Input().Fields().ByName(protoreflect.Name(k.Calls.Names())) == nil {
				t.Errorf("%s: %s names no object by %s", k.Name, k.Calls.Path(name), k.Calls.Names())
			}
		}
		if k.Calls.Get != "" {
			if m := method(k, k.Calls.Get); m != nil && m.Output() != rows {
				t.Errorf("%s: %s returns %s, and the list has %s", k.Name, k.Calls.Path(k.Calls.Get), m.Output().Name(), rows.Name())
			}
		}
	}
}
