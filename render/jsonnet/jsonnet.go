// Package jsonnet evaluates Jsonnet to Kubernetes objects with Google's
// library.
//
// Imports stay inside the service's files. A file is looked up beside the importing
// file, then in the libraries that the service names, then in "vendor" and "lib" of
// the renderer's folder, of the service's folder and of the root of the files. The
// output is an object, a list of objects, or an object that holds such. The render
// child stops an evaluation that does not end. The render child calls the package.
package jsonnet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/axle-cd/axle/internal/manifest"
	"github.com/axle-cd/axle/internal/tree"
)

// Main is the file that marks a folder as Jsonnet.
const Main = "main.jsonnet"

// maxTraces is how many lines of std.trace become warnings.
const maxTraces = 20

// Request is one folder to evaluate.
type Request struct {
	Tree *tree.Tree
	Dir  string
	// Roots are further folders where Libs are looked up.
	Roots []string
	// File is a file in Dir; empty means Main, or without it every *.jsonnet file of
	// Dir.
	File          string
	TLAs, ExtVars []Variable
	Libs          []string
	// Bindings are external variables; ExtVars override them.
	Bindings map[string]any
	// Namespace is the namespace of objects that name none.
	Namespace string
}

// Variable is a value, a string unless it is code.
type Variable struct {
	Name, Value string
	Code        bool
}

// Render evaluates the files and returns their objects.
func Render(r Request) (objects []manifest.Object, warnings []string, err error) {
	files, err := r.files()
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		found, traces, err := r.file(file)
		if err != nil {
			return nil, nil, err
		}
		objects, warnings = append(objects, found...), append(warnings, traces...)
	}
	return objects, warnings, manifest.Once(objects, r.Namespace)
}

// files are the files to evaluate, in the order of their names.
func (r Request) files() ([]string, error) {
	name := r.File
	if name == "" {
		name = Main
	}
	if file := path.Join(r.Dir, name); r.Tree.IsFile(file) {
		return []string{file}, nil
	} else if r.File != "" {
		return nil, &manifest.Error{File: file, Message: "the file does not exist at this revision; check jsonnet.file of the renderer"}
	}
	var out []string
	for _, file := range r.Tree.Below(r.Dir) {
		if path.Dir(file) == path.Clean(r.Dir) && path.Ext(file) == ".jsonnet" {
			out = append(out, file)
		}
	}
	if len(out) == 0 {
		return nil, &manifest.Error{File: r.Dir, Message: "the folder has no *.jsonnet file"}
	}
	return out, nil
}

// file evaluates one file in a new VM.
func (r Request) file(file string) (objects []manifest.Object, warnings []string, err error) {
	vm := jsonnet.MakeVM()
	jail := &importer{tree: r.Tree, libs: r.libs()}
	vm.Importer(jail)
	var traces bytes.Buffer
	vm.SetTraceOut(&traces)
	if err := r.variables(vm); err != nil {
		return nil, nil, err
	}
	node, _, err := vm.ImportAST("", "/"+file)
	if err != nil {
		return nil, nil, r.explain(file, jail, err)
	}
	text, err := vm.Evaluate(node)
	if err != nil {
		return nil, nil, r.explain(file, jail, err)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, nil, &manifest.Error{File: file, Message: "the output is not JSON: " + err.Error()}
	}
	objects, err = manifest.Collect(file, value)
	return objects, said(traces.String()), err
}

// variables sets the service's variables in the VM.
func (r Request) variables(vm *jsonnet.VM) error {
	for name, value := range r.Bindings {
		text, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode what Jsonnet sees as %q: %w", name, err)
		}
		vm.ExtCode(name, string(text))
	}
	for _, v := range r.ExtVars {
		if v.Code {
			vm.ExtCode(v.Name, v.Value)
		} else {
			vm.ExtVar(v.Name, v.Value)
		}
	}
	for _, v := range r.TLAs {
		if v.Code {
			vm.TLACode(v.Name, v.Value)
		} else {
			vm.TLAVar(v.Name, v.Value)
		}
	}
	return nil
}

// libs are the folders to import from, in order.
func (r Request) libs() []string {
	var out []string
	roots := append([]string{r.Dir}, r.Roots...)
	for _, lib := range append(append([]string{}, r.Libs...), "vendor", "lib") {
		for _, root := range roots {
			out = append(out, path.Join(root, lib))
		}
	}
	return out
}

// told matches a position in the text of the library's error: file, line or
// (line:column), column or a range.
var told = regexp.MustCompile(`^/(\S+?):\(?(\d+)[:\d()-]*\s+(.+)$`)

func said(traces string) []string {
	var out []string
	for line := range strings.Lines(traces) {
		if len(out) == maxTraces {
			break
		}
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

// explain finds the position of an error: the file with the syntax error, otherwise
// the innermost call in the service's files.
func (r Request) explain(file string, jail *importer, err error) error {
	if jail.refused != nil && strings.Contains(err.Error(), jail.refused.Error()) {
		var bad *tree.Error
		if errors.As(jail.refused, &bad) {
			return jail.refused
		}
	}
	bad := &manifest.Error{File: file, Message: strings.TrimPrefix(err.Error(), "RUNTIME ERROR: ")}
	var written interface{ Loc() ast.LocationRange }
	var run jsonnet.RuntimeError
	switch {
	case errors.As(err, &written):
		loc := written.Loc()
		if line := loc.Begin.Line; line > 0 && loc.FileName != "" {
			bad.File, bad.Line = strings.TrimPrefix(loc.FileName, "/"), line
			// The message begins with the position, which has its own fields.
			bad.Message = strings.TrimLeft(strings.TrimPrefix(bad.Message, loc.String()), ": ")
		}
	case errors.As(err, &run):
		bad.Message = run.Msg
		// For an error in an imported file, the position is in the message.
		if found := told.FindStringSubmatch(run.Msg); found != nil && r.Tree.IsFile(found[1]) {
			bad.File, bad.Message = found[1], found[3]
			bad.Line, _ = strconv.Atoi(found[2])
			break
		}
		for i := len(run.StackTrace) - 1; i >= 0; i-- {
			loc := run.StackTrace[i].Loc
			if name := strings.TrimPrefix(loc.FileName, "/"); loc.Begin.Line > 0 && r.Tree.IsFile(name) {
				bad.File, bad.Line = name, loc.Begin.Line
				break
			}
		}
	}
	return bad
}
