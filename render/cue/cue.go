// Package cue evaluates a CUE package to Kubernetes objects with CUE's own
// library.
//
// It loads only the service's files: the module that holds the folder (cue.mod), with
// what is vendored below it. Nothing is fetched; an import of a missing module is an
// error. Objects are all exported values of the package that have an apiVersion and a
// kind; they must be concrete. The render child calls it.
package cue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/parser"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
)

// Request is one folder to evaluate.
type Request struct {
	Tree *tree.Tree
	Dir  string
	// Package is required if the folder holds several.
	Package string
	// Expression selects where objects are looked for.
	Expression string
	// Tags are values of @tag attributes; a tag without an attribute is an error. An
	// empty tag that no attribute names is set, like -t name.
	Tags map[string]string
	// Configuration are values for the attributes with their names.
	Configuration map[string]string
	// Namespace is the namespace of objects that name none.
	Namespace string
}

// Render evaluates the package and returns its objects.
func Render(r Request) ([]manifest.Object, error) {
	instance, err := r.load()
	if err != nil {
		return nil, err
	}
	context := cuecontext.New()
	value := context.BuildInstance(instance)
	if err := value.Validate(); err != nil {
		return nil, r.explain(err)
	}
	if r.Expression != "" {
		if value, err = r.expression(context, value, instance); err != nil {
			return nil, err
		}
	}
	c := collector{request: r}
	if err := c.walk(value); err != nil {
		return nil, err
	}
	return c.objects, manifest.Once(c.objects, r.Namespace)
}

// expression evaluates an expression in the scope of the package.
func (r Request) expression(context *cue.Context, value cue.Value, instance *build.Instance) (cue.Value, error) {
	expression, err := parser.ParseExpr("cue.expression", r.Expression)
	if err != nil {
		return value, &manifest.Error{File: r.Dir, Message: fmt.Sprintf("cannot parse cue.expression %q of the renderer: %v", r.Expression, err)}
	}
	found := context.BuildExpr(expression, cue.Scope(value), cue.ImportPath(instance.ImportPath))
	if err := found.Err(); err != nil {
		return value, &manifest.Error{File: r.Dir, Message: fmt.Sprintf("cue.expression %q of the renderer: %v", r.Expression, err)}
	}
	return found, nil
}

// collector finds objects in a value.
type collector struct {
	request Request
	objects []manifest.Object
}

func (c *collector) walk(v cue.Value) error {
	switch v.IncompleteKind() {
	case cue.ListKind:
		items, err := v.List()
		if err != nil {
			return c.request.explain(err)
		}
		for items.Next() {
			if err := c.walk(items.Value()); err != nil {
				return err
			}
		}
	case cue.StructKind:
		if _, isObject := text(v, "apiVersion"); isObject {
			if _, isObject = text(v, "kind"); isObject {
				return c.object(v)
			}
		}
		fields, err := v.Fields()
		if err != nil {
			return c.request.explain(err)
		}
		for fields.Next() {
			if err := c.walk(fields.Value()); err != nil {
				return err
			}
		}
	}
	return nil
}

// object adds one value, which must be concrete.
func (c *collector) object(v cue.Value) error {
	if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return c.request.explain(err)
	}
	encoded, err := v.MarshalJSON()
	if err != nil {
		return c.request.explain(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var data any
	if err := decoder.Decode(&data); err != nil {
		return err
	}
	source, line := c.place(v)
	found, err := manifest.Collect(source, data)
	if err != nil {
		if bad, ok := err.(*manifest.Error); ok {
			bad.Line = line
		}
		return err
	}
	for i := range found {
		found[i].Line = line
	}
	c.objects = append(c.objects, found...)
	return nil
}

// place is the position of a value. For a reference the target's position counts, or
// that of its kind.
func (c *collector) place(v cue.Value) (file string, line int) {
	for _, at := range []cue.Value{v, cue.Dereference(v), v.LookupPath(cue.MakePath(cue.Str("kind")))} {
		if pos := at.Pos(); pos.IsValid() && c.request.Tree.IsFile(relative(pos.Filename())) {
			return relative(pos.Filename()), pos.Line()
		}
	}
	return c.request.Dir, 0
}

// text returns a field's value if it is a string.
func text(v cue.Value, field string) (string, bool) {
	at := v.LookupPath(cue.MakePath(cue.Str(field)))
	if !at.Exists() || at.IncompleteKind() != cue.StringKind {
		return "", false
	}
	s, _ := at.String()
	return s, true
}

// explain takes the first error and its position in the service's files.
func (r Request) explain(err error) error {
	all := errors.Errors(err)
	if len(all) == 0 {
		return &manifest.Error{File: r.Dir, Message: err.Error()}
	}
	first := all[0]
	bad := &manifest.Error{File: r.Dir, Message: strings.ReplaceAll(first.Error(), " /", " ")}
	if len(all) > 1 {
		bad.Message += fmt.Sprintf(" (and %d more)", len(all)-1)
	}
	for _, pos := range errors.Positions(first) {
		if name := relative(pos.Filename()); pos.IsValid() && pos.Line() > 0 && r.Tree.IsFile(name) {
			bad.File, bad.Line = name, pos.Line()
			break
		}
	}
	return bad
}

// relative returns a file's name in the tree.
func relative(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }
