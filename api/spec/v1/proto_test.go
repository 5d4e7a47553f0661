package specv1_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

var update = flag.Bool("update", false, "write both spec.proto files anew")

// part is an API that has messages of the spec.
type part struct {
	// name is that of the API and of the struct tag with the fields' numbers.
	name string
	// root is the name of the message of Spec, and doc its comment if that is not
	// the struct's.
	root, doc string
}

// The messages of both APIs are made of the structs: make generate calls this test with
// -update before buf.
func TestMessagesAreTheSpec(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "spec.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []part{
		{name: "hub", root: "ServiceSpec"},
		{name: "agent", root: "Settings", doc: "// Settings are the fields of a service's spec that agent.proto does not have.\n"},
	} {
		want, path := p.messages(t, file), "../../"+p.name+"/v1/spec.proto"
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not what spec.go says (%v): run make generate", path, err)
		}
	}
}

// messages returns the text of a proto file.
func (p part) messages(t *testing.T, file *ast.File) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, "// Code generated from api/spec/v1/spec.go by make generate. DO NOT EDIT.\n\nsyntax = \"proto3\";\n\npackage axle.%s.v1;\n\n", p.name)
	fmt.Fprintf(out, "option go_package = \"github.com/axle-cd/axle/api/%s/v1;%sv1\";\n", p.name, p.name)
	for _, d := range file.Decls {
		declaration := d.(*ast.GenDecl)
		spec := declaration.Specs[0].(*ast.TypeSpec)
		fields := p.fields(t, spec)
		if fields == "" && spec.Name.Name != "Spec" {
			continue
		}
		name := spec.Name.Name
		doc := strings.Replace(comment("", declaration.Doc), "// "+name, "// "+p.message(name), 1)
		if name == "Spec" && p.doc != "" {
			doc = p.doc
		}
		out.WriteString("\n" + doc)
		fmt.Fprintf(out, "message %s {\n%s}\n", p.message(name), fields)
	}
	return out.String()
}

func (p part) message(name string) string {
	if name == "Spec" {
		return p.root
	}
	return name
}

// fields returns the fields of a message, empty if this API has none of them.
func (p part) fields(t *testing.T, spec *ast.TypeSpec) string {
	out := &strings.Builder{}
	taken := map[int]string{}
	for _, f := range spec.Type.(*ast.StructType).Fields.List {
		where := spec.Name.Name + "." + f.Names[0].Name
		quoted, _ := strconv.Unquote(f.Tag.Value)
		tag := reflect.StructTag(quoted)
		name, options, _ := strings.Cut(tag.Get("json"), ",")
		if name == "" || options != "omitempty" {
			t.Errorf("%s: the json tag needs a name and omitempty", where)
		}
		number, err := strconv.Atoi(tag.Get(p.name))
		switch text := tag.Get(p.name); {
		case text == "" || p.name == "agent" && (text == "ServiceSpec" || text == "Render"):
			continue
		case err != nil || number < 1:
			t.Errorf("%s: %s:%q is not a field number", where, p.name, text)
		case taken[number] != "":
			t.Errorf("%s: number %d is that of %s", where, number, taken[number])
		}
		taken[number] = where
		out.WriteString(comment("  ", f.Doc))
		fmt.Fprintf(out, "  %s %s = %d;\n", p.typeOf(t, where, f.Type), snake(name), number)
	}
	return out.String()
}

// typeOf returns the protobuf type of a field.
func (p part) typeOf(t *testing.T, where string, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		if unicode.IsUpper(rune(e.Name[0])) {
			return p.message(e.Name)
		}
		if e.Name == "string" || e.Name == "bool" || e.Name == "int32" || e.Name == "int64" {
			return e.Name
		}
	case *ast.StarExpr:
		inner := p.typeOf(t, where, e.X)
		if unicode.IsUpper(rune(inner[0])) {
			return inner
		}
		return "optional " + inner
	case *ast.ArrayType:
		return "repeated " + p.typeOf(t, where, e.Elt)
	case *ast.MapType:
		return "map<" + p.typeOf(t, where, e.Key) + ", " + p.typeOf(t, where, e.Value) + ">"
	}
	t.Errorf("%s: a spec has no fields of this type", where)
	return "?"
}

func comment(indent string, doc *ast.CommentGroup) string {
	var out strings.Builder
	if doc != nil {
		for _, line := range doc.List {
			out.WriteString(indent + line.Text + "\n")
		}
	}
	return out.String()
}

// snake turns valuesFiles into values_files.
func snake(name string) string {
	var out strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
