package hub_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// namedFields reads what the string fields of requests name, with the tests of each noun.
func namedFields(t *testing.T) (all []struct{ of, fields, tests string }) {
	t.Helper()
	text, err := os.ReadFile("testdata/named_fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		row := strings.Split(strings.TrimSpace(line), ":")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(row) != 3 || row[0] != "nothing" && strings.TrimSpace(row[2]) == "" {
			t.Fatalf("a noun, its fields and its tests are missing in %q", line)
		}
		all = append(all, struct{ of, fields, tests string }{row[0], row[1], row[2]})
	}
	return all
}

// Every string field of a request says what it names, and each noun has its tests. A new
// field fails here until somebody decided which it is.
func TestEveryFieldThatNamesSomethingHasATest(t *testing.T) {
	known, used := map[string]string{}, map[string]bool{}
	all := testNames(t)
	for _, n := range namedFields(t) {
		for _, field := range strings.Fields(n.fields) {
			if known[field] != "" {
				t.Errorf("%s names %s and %s", field, known[field], n.of)
			}
			known[field] = n.of
		}
		for _, test := range strings.Fields(n.tests) {
			if !all[test] {
				t.Errorf("%s is shown by %s, and there is no such test", n.of, test)
			}
		}
	}
	var missing []string
	for _, field := range fieldsOfRequests() {
		_, short, _ := strings.Cut(field, ".")
		at := field
		if known[field] == "" {
			at = short
		}
		if used[at] = true; known[at] == "" {
			missing = append(missing, field)
		}
	}
	if len(missing) > 0 {
		t.Errorf("these fields say nowhere what they name: %q", missing)
	}
	for field, of := range known {
		if !used[field] {
			t.Errorf("%s, which names %s, is no field of a request", field, of)
		}
	}
}

// Every field of a request with an expression has a line in the table of expressions, and
// the reverse.
func TestEveryExpressionIsInTheTable(t *testing.T) {
	text, err := os.ReadFile("../test/field/expressions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var have, want []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		head, _, _ := strings.Cut(line, " | ")
		_, fields, _ := strings.Cut(head, ": ")
		for field := range strings.FieldsSeq(fields) {
			if !strings.Contains(field, "/") { // those of objects are looked up by test/kinds
				have = append(have, field)
			}
		}
	}
	for _, n := range namedFields(t) {
		if n.of == "an expression" {
			want = append(want, strings.Fields(n.fields)...)
		}
	}
	slices.Sort(want)
	if slices.Sort(have); !slices.Equal(have, want) {
		t.Errorf("test/field/expressions.txt has %q, and named_fields.txt %q", have, want)
	}
}

// Every field of a spec that names a repository is a row of references.
func TestEveryReferenceOfASpecIsInTheTable(t *testing.T) {
	var have, want []string
	for _, r := range references {
		field, _, _ := strings.Cut(strings.ReplaceAll(r.field, "[0]", ""), " ")
		have = append(have, field)
	}
	var walk func(at string, m protoreflect.MessageDescriptor)
	walk = func(at string, m protoreflect.MessageDescriptor) {
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			switch name := string(f.Name()); {
			case name == "repository" || name == "url":
				want = append(want, at+name)
			case name == "renderers": // what their charts name has no effect, and the answer says so
			case f.Message() != nil && !f.IsMap() && strings.Count(at, ".") < 4:
				walk(at+name+".", f.Message())
			}
		}
	}
	found, err := protoregistry.GlobalFiles.FindDescriptorByName("axle.hub.v1.ServiceSpec")
	spec, ok := found.(protoreflect.MessageDescriptor)
	if err != nil || !ok {
		t.Fatal(err)
	}
	walk("", spec)
	slices.Sort(have)
	slices.Sort(want)
	if have = slices.Compact(have); !slices.Equal(have, want) {
		t.Errorf("the table has %q, and a spec %q", have, want)
	}
}

// fieldsOfRequests are the string fields of all requests of people, as MESSAGE.NAME.
func fieldsOfRequests() (all []string) {
	seen := map[protoreflect.FullName]bool{}
	var walk func(m protoreflect.MessageDescriptor)
	walk = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			if f.IsMap() && f.MapKey().Kind() == protoreflect.StringKind || f.Kind() == protoreflect.StringKind {
				all = append(all, string(m.Name())+"."+string(f.Name()))
			}
			if f.IsMap() {
				f = f.MapValue()
			}
			if f.Message() != nil {
				walk(f.Message())
			}
		}
	}
	protoregistry.GlobalFiles.RangeFilesByPackage("axle.hub.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				walk(file.Services().Get(i).Methods().Get(j).Input())
			}
		}
		return true
	})
	slices.Sort(all)
	return all
}

// testNames are the tests of the hub.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "func Test"); ok {
				name, _, _ := strings.Cut(rest, "(")
				all["Test"+name] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
